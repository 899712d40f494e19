package spec

// The generators are tests, which compare their files and write them with -update. The second
// line reads the documents that the first one writes.
//
//go:generate go test -count=1 -run "^TestGenerated(Documents|Types)$" . -update
//go:generate go test -count=1 -run ^TestGenerated . ../conformance ../engine/internal/state ../internal/house ../packaging/npm ../packaging/pypi ../cmd/understudy -update
