// Package release proves what a tag would publish, without publishing it: check.sh builds a
// release and runs the tests of this package, and those named TestRelease of its neighbours,
// on its files.
package release
