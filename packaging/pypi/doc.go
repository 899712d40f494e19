// Package pypi is the PyPI package understudy-mock: a wheel for each platform with the
// programs, a launcher, a typed helper and fixtures for pytest.
//
//	python3 packaging/pypi/wheels.py --binaries dist --out dist/wheels --version v1.2.3
//
// Only the tests are in Go: they build the wheel of this platform, install it from a folder
// without an index, and run the Python tests and the examples with it.
package pypi
