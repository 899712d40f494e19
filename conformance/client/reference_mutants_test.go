package client_test

import "strings"

// mutants are the defects of the reference client: id and sentence. An id begins with the
// requirement that must find it.
var mutants = []struct{ id, defect string }{
	{"001.1", "sends the token without Bearer"},
	{"001.2", "sends Authorization twice"},
	{"002.1", "writes the credentials of the management API in URL-safe base64"},
	{"003.1", "sends the token in the query too"},
	{"004.1", "calls /v1"},
	{"005.1", "doubles the slash after a base address with a slash"},
	{"006.1", "prefers the environment to what the code gives"},
	{"008.1", "follows redirects to another host with the token"},
	{"009.1", "follows a redirected POST with a GET, and returns its response"},
	{"009.2", "follows redirects to another host with the forwarded headers"},
	{"010.1", "accepts any certificate"},
	{"020.1", "makes the // of a destination one slash"},
	{"021.1", "drops the query of a destination"},
	{"021.2", "decodes the escapes of a destination"},
	{"022.1", "resolves the dot segments of a destination"},
	{"023.1", "resolves the dot segments below the host of a destination"},
	{"024.1", "publishes to a group at the path of groups"},
	{"025.1", "does not escape path parameters"},
	{"025.3", "does not escape the ids of events"},
	{"025.2", "escapes path parameters twice"},
	{"026.1", "sends a request for an empty id"},
	{"027.1", "publishes with PUT"},
	{"028.1", "reads bodies as UTF-8"},
	{"028.2", "changes the line ends of bodies"},
	{"029.1", "encodes JSON twice"},
	{"031.1", "sends forwarded headers without their prefix"},
	{"032.1", "prefixes forwarded headers that have the prefix"},
	{"033.1", "passes line breaks on"},
	{"034.1", "writes 1 for the header forwarding"},
	{"035.1", "leaves the token out of an address"},
	{"036.1", "sends undefined for an option that is not given"},
	{"037.1", "drops zero retries"},
	{"038.1", "writes numbers with an exponent"},
	{"040.1", "writes the delay in milliseconds"},
	{"041.1", "writes not-before in milliseconds"},
	{"042.1", "writes the retries to another header"},
	{"043.1", "writes the retry delay without blanks"},
	{"044.1", "writes the timeout to another header"},
	{"045.1", "drops the query of a callback URL"},
	{"046.1", "leaves the prefix of forwarded headers out of those of callbacks"},
	{"047.1", "separates labels by semicolons"},
	{"048.1", "drops a period without a unit"},
	{"049.1", "writes the deduplication id to another header"},
	{"049.2", "cuts a long deduplication id"},
	{"050.1", "writes True"},
	{"051.1", "redacts headers by another word"},
	{"052.1", "writes the cron expression to another header"},
	{"053.1", "drops the retry delay in a batch"},
	{"060.1", "reverses a batch"},
	{"062.1", "changes its arguments"},
	{"063.1", "publishes instead of enqueueing"},
	{"064.1", "calls queues at another path"},
	{"065.1", "calls messages and schedules at another path"},
	{"067.1", "rotates keys at another path"},
	{"068.1", "updates groups with PUT"},
	{"069.1", "calls endpoints of groups at another path"},
	{"070.1", "lists the DLQ with POST"},
	{"071.1", "names the status filter otherwise"},
	{"072.1", "sends a body with a restart"},
	{"073.1", "misspells the header of the run id"},
	{"074.1", "reads message logs at another path"},
	{"075.1", "resumes flow control with PUT"},
	{"076.1", "drops the period of statistics"},
	{"077.1", "deletes search indexes with POST"},
	{"078.1", "reads vector information below /v2"},
	{"080.1", "triggers without the header that starts a run"},
	{"081.1", "notifies with PUT"},
	{"090.1", "returns only the first message of a group"},
	{"091.1", "reverses results"},
	{"092.1", "takes an empty cursor for a cursor"},
	{"093.1", "encodes a cursor twice"},
	{"094.1", "stops at an empty page"},
	{"095.1", "fails on an unknown field"},
	{"096.1", "fails on an absent field"},
	{"098.1", "fails on an unknown state"},
	{"099.1", "joins values of headers"},
	{"100.1", "keeps times in 32 bits"},
	{"103.1", "fails on an empty body"},
	{"104.1", "does not unwrap vector information"},
	{"120.1", "takes 304 for a success"},
	{"121.1", "drops the text of an error"},
	{"123.1", "takes the daily limit for the burst limit"},
	{"125.1", "drops the status of an error that is not JSON"},
	{"126.1", "takes an empty body for a result"},
	{"127.1", "takes half a body for a result"},
	{"130.1", "has the token in the text of errors"},
	{"140.1", "repeats after a 500"},
	{"141.1", "repeats once too often"},
	{"142.1", "repeats without the body"},
	{"144.1", "waits for repeats of what cannot be sent"},
	{"150.1", "never tries the current key"},
	{"151.1", "never tries the next key"},
	{"152.1", "does not compare the signature"},
	{"153.1", "compares the beginning of the signature"},
	{"154.1", "does not compare the hash of the body"},
	{"155.1", "compares the beginning of the URL"},
	{"156.1", "ignores exp"},
	{"157.1", "ignores nbf"},
	{"158.1", "ignores the issuer"},
	{"159.1", "accepts the algorithm none"},
	{"162.1", "fails in its own code for a token without a claim"},
	{"163.1", "ignores the tolerance"},
	{"163.2", "always tolerates a minute"},
	{"164.1", "reads bytes as Latin-1"},
	{"165.1", "accepts an empty key"},
	{"170.1", "sends no token to the storage"},
	{"171.1", "keeps counters without the prefix"},
	{"172.1", "admits one request too many"},
	{"173.1", "sends the script in full without its hash before"},
	{"174.1", "accepts any algorithm"},
	{"180.1", "makes a new run id on each call"},
	{"182.1", "writes the type of steps in lower case"},
	{"183.1", "runs finished steps again"},
	{"184.1", "ends a run twice"},
	{"185.1", "sends plans one by one"},
	{"186.1", "runs all functions of a group in each plan"},
	{"187.1", "continues before all results of a group are there"},
	{"188.1", "sends sleeps without their delay"},
	{"189.1", "sends each call as POST"},
	{"190.1", "returns a failed call although it is tried again"},
	{"191.1", "waits without a timeout"},
	{"192.1", "notifies again when the code runs again"},
	{"193.1", "sends the run of the child as that of the invoker"},
	{"194.1", "does not decode the message of a failure"},
	{"195.1", "ends a run that it must cancel"},
	{"196.1", "runs unsigned calls"},
	{"197.1", "does not compare the URL of signed calls"},
	{"198.1", "answers 489 without the header"},
	{"199.1", "answers 500 when a run has ended"},
	{"200.1", "runs the next step for a duplicate"},
	{"201.1", "does not cut the list that it fetches"},
	{"202.1", "answers without the version of the protocol"},
	{"203.1", "takes the result of a changed step"},
}

// changes are the defects that change a request before it is sent.
var changes = map[string]func(op string, q *request){
	"024.1": func(op string, q *request) {
		if !strings.Contains(q.path, "://") {
			q.path = strings.Replace(q.path, "/publish/", "/topics/", 1)
		}
	},
	"027.1": method("publish", "PUT"),
	"034.1": header("Svc-Header-Forward", func(string) string { return "1" }),
	"042.1": renamed("Svc-Retries", "Svc-Retry"),
	"043.1": header("Svc-Retry-Delay", func(v string) string { return strings.ReplaceAll(v, " ", "") }),
	"044.1": renamed("Svc-Timeout", "Svc-Time-Out"),
	"045.1": header("Svc-Callback", func(v string) string { before, _, _ := strings.Cut(v, "?"); return before }),
	"046.1": func(_ string, q *request) {
		for i := range q.header {
			q.header[i][0] = strings.Replace(q.header[i][0], "Callback-Forward-", "Callback-", 1)
		}
	},
	"047.1": header("Svc-Label", func(v string) string { return strings.ReplaceAll(v, ",", ";") }),
	"049.1": renamed("Svc-Deduplication-Id", "Svc-Deduplication-Key"),
	"051.1": header("Svc-Redact-Fields", func(v string) string { return strings.ReplaceAll(v, "header", "headers") }),
	"052.1": renamed("Svc-Cron", "Svc-Schedule"),
	"064.1": moved("/queues", "/queue"),
	"065.1": moved("/schedules/", "/schedule/"),
	"068.1": method("group.update", "PUT"),
	"069.1": moved("/endpoints", "/endpoint"),
	"070.1": method("dlq.list", "POST"),
	"071.1": moved("responseStatus=", "status="),
	"074.1": moved("/messageLogs", "/messagelog"),
	"075.1": method("flow.resume", "PUT"),
	"076.1": moved("period=", "interval="),
	"077.1": method("search.delete", "POST"),
	"078.1": moved("/info", "/v2/info"),
	"080.1": renamed("Svc-Workflow-Init", "Svc-Workflow-Start"),
	"081.1": method("wf.notify", "PUT"),
	"104.1": func(op string, q *request) {
		if op == "vector.info" {
			q.read = nil
		}
	},
}

func method(of, name string) func(string, *request) {
	return func(op string, q *request) {
		if strings.HasPrefix(op, of) && q.method != "" {
			q.method = name
		}
	}
}

func moved(from, to string) func(string, *request) {
	return func(_ string, q *request) { q.path = strings.Replace(q.path, from, to, 1) }
}

func header(name string, change func(string) string) func(string, *request) {
	return func(_ string, q *request) {
		for i := range q.header {
			if q.header[i][0] == name {
				q.header[i][1] = change(q.header[i][1])
			}
		}
	}
}

func renamed(from, to string) func(string, *request) {
	return func(_ string, q *request) {
		for i := range q.header {
			if q.header[i][0] == from {
				q.header[i][0] = to
			}
		}
	}
}

// latitudes are what a correct client may do.
var latitudes = []struct{ name, does string }{
	{"encoded-destination", "encodes the destination"},
	{"http2", "speaks HTTP/2 where it can"},
	{"chunked", "uploads in chunks"},
	{"expect-continue", "waits for 100 Continue"},
	{"new-connections", "opens a connection for each request"},
	{"lower-case", "writes names of headers in lower case"},
	{"minutes", "writes 90 s as 1m30s"},
	{"flow-order", "writes the parts of flow control in another order"},
	{"null-queue", "writes queue: null in batches"},
	{"extra-headers", "sends telemetry"},
	{"escaped-json", "escapes characters beyond ASCII in JSON"},
	{"bulk-restart", "restarts runs with the bulk form"},
	{"out-of-order", "answers calls in any order"},
	{"noise", "writes noise to standard output"},
	{"repeat-on-503", "declares that it repeats after 503"},
}
