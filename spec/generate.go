package spec

//go:generate go run ./compact openapi.yaml openapi.json
//go:generate go run ./compact control.yaml control.json
//go:generate go run ./constants openapi.json control.json
//go:generate go test -count=1 -run ^TestOperations$ . -update
//go:generate go tool oapi-codegen -config api/config.yaml openapi.yaml
//go:generate go run ../packaging/npm/types control.json ../packaging/npm/understudy-mock/control.d.ts
//go:generate go run ../packaging/pypi/types control.json ../packaging/pypi/src/understudy_mock/control_types.py
//go:generate go test -count=1 -run ^(TestFlagTypes|TestReadmeOperations|TestSchemaFiles|TestOperationPages|TestReferencePages)$ ../cmd/understudy -update
//go:generate go test -count=1 -run ^TestDiagrams$ ../engine/internal/state -update
//go:generate go test -count=1 -run ^TestStepsPage$ ../cmd/understudy-conform -update
