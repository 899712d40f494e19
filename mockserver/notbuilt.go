package mockserver

// notBuilt lists the operations that still answer 501. Sorted.
var notBuilt = []string{
	"kvCommand",
	"kvPathGet",
	"kvPathPost",
	"kvPathPut",
	"kvPipeline",
	"kvTransaction",
}
