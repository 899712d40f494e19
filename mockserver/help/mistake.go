package help

import "regexp"

// mistakes are the sections of the page troubleshooting that explain errors of
// the server. The first that matches the text of an error applies. mistake_test.go
// checks them against the page.
var mistakes = []struct {
	text    *regexp.Regexp
	section string
}{
	{regexp.MustCompile(`^stand-in unreachable`), "3-no-server-is-running"},
	{regexp.MustCompile(`^ *(?:no response: |connect: )?connection refused|^connect ECONNREFUSED`), "17-the-application-is-not-running-or-listens-elsewhere"},
	{regexp.MustCompile(`no credentials: must be `), "4-there-is-no-token"},
	{regexp.MustCompile(`not a token of this server`), "5-the-token-belongs-to-another-server"},
	{regexp.MustCompile(`^path destination: invalid value`), "6-the-destination-has-no-scheme"},
	{regexp.MustCompile(`^topic .* not found: the destination must be`), "7-the-url-group-does-not-exist"},
	{regexp.MustCompile(`^header .* belongs to the dialect |^query parameter .* belongs to the dialect `), "10-names-of-two-dialects-in-one-request"},
	{regexp.MustCompile(`^header \S+: unknown option`), "9-an-option-is-misspelt-and-has-no-effect"},
	{regexp.MustCompile(`^(?:header|query) \S+-[Cc]ron: invalid value`), "13-the-cron-expression-is-invalid"},
	{regexp.MustCompile(`^header \S+: invalid value`), "8-an-option-has-an-invalid-value"},
	{regexp.MustCompile(`^path \S+: operation not found`), "11-the-path-is-misspelt"},
	{regexp.MustCompile(`raise it with --max-body`), "12-the-body-is-too-large"},
	{regexp.MustCompile(`^Embedding data for this index is not allowed`), "15-the-vector-index-gets-a-text"},
	{regexp.MustCompile(`^id .*: no message, run, DLQ entry or flow-control key|^(?:message|workflow run|DLQ entry) ".*not found`), "20-the-id-belongs-to-an-earlier-server"},
}

// Explains returns the path of the section that explains an error of the server,
// from the text of the error; "" when there is none.
func Explains(text string) string {
	for _, m := range mistakes {
		if m.text.MatchString(text) {
			return Root + "troubleshooting#" + m.section
		}
	}
	return ""
}
