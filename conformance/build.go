package conformance

import (
	"runtime/debug"
	"sync"
)

// Commit is the commit of the suite's source in reports; "": that of the build information.
var Commit string

// builtCommit is the commit of the suite's source according to the build information of
// the binary, "" if it was built outside the repository.
var builtCommit = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	id := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			id = s.Value + id
		case s.Key == "vcs.modified" && s.Value == "true":
			id += " with changes"
		}
	}
	return id
})
