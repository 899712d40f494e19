package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

const (
	exportedDLQ = `{"cursor":"x","messages":[{"dlqId":"1725323658779-0","messageId":"msg_9","url":"https://app.test/order?a=1","method":"PUT","maxRetries":2,
"header":{"Content-Type":["application/json"],"Authorization":["Bearer real-key"],"X-Shop":["a"],"Upstash-Message-Id":["msg_9"],"Upstash-Signature":["x.y.z"]},
"body":"{\"id\":7,\"apiKey\":\"real-key\"}","responseStatus":500,"responseHeader":{"Content-Type":["text/plain"],"Set-Cookie":["sid=real-key"]},"responseBody":"no stock"},
{"dlqId":"1725323658780-0","messageId":"msg_8","url":"https://app.test/flow","workflowRunId":"wfr_1","workflowUrl":"https://app.test/flow","header":{},"body":"hello","responseStatus":503}]}`
	exportedLog = `{"events":[
{"time":3,"state":"FAILED","messageId":"msg_1","url":"https://app.test/a","dlqId":"17-1","responseStatus":500},
{"time":2,"state":"RETRY","messageId":"msg_2","url":"https://app.test/b","body":"aGVsbG8=","header":{"X-A":["1"]}},
{"time":1,"state":"DELIVERED","messageId":"msg_3","url":"https://app.test/c"},
{"time":1,"state":"CREATED","messageId":"msg_1","url":"https://app.test/a","body":"Ynll"}]}`
	archive = `{"log":{"entries":[
{"request":{"method":"POST","url":"https://mail.test/send?token=real-key","headers":[{"name":"authorization","value":"Bearer real-key"}],"postData":{"text":"to=a"}},"response":{"status":503,"content":{"text":"busy","mimeType":"text/plain"},"headers":[{"name":"content-type","value":"text/plain"}]}},
{"request":{"method":"POST","url":"https://mail.test/send?token=real-key","headers":[]},"response":{"status":200,"content":{"text":"b2s=","encoding":"base64"},"headers":[]}},
{"request":{"method":"POST","url":"https://api.test/v2/publish/https://app.test/hook","headers":[{"name":"Upstash-Delay","value":"1h"},{"name":"Authorization","value":"Bearer real-key"}],"postData":{"text":"x"}},"response":{"status":0}}]}}`
	recording = "upstream: https://api.test\nstubs:\n  - method: GET\n    url: https://api.test/v2/dlq\n    answers:\n      - status: 200\n        body: '{}'\nrequests: []\n"
)

// importing runs the command on a file with a text.
func importing(t *testing.T, text string, flags ...string) (code int, out, said string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "export")
	expect.Nil(t, "file", os.WriteFile(file, []byte(text), 0o600))
	var stdout, stderr bytes.Buffer
	code = runProgram(t.Context(), append([]string{"import", file}, flags...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestImport(t *testing.T) {
	t.Parallel()
	for fact, c := range map[string]struct {
		text  string
		flags []string
		want  []string
		said  string
	}{
		"the list of the DLQ":        {exportedDLQ, nil, []string{"dlq:", "id: 1725323658779-0", "Svc-Forward-X-Shop: a", "Svc-Method: PUT", `Svc-Retries: "2"`, "runs:", "id: wfr_1", "state: RUN_FAILED"}, "1 DLQ entry, 1 failed run; masked: Authorization, Set-Cookie"},
		"a secret that is given":     {exportedDLQ, []string{"--secret", "Authorization=Bearer test-key"}, []string{"Svc-Forward-Authorization: Bearer test-key"}, "masked: Set-Cookie"},
		"the list of the log":        {exportedLog, nil, []string{"id: 17-1", "body: bye", "messages:", "body: hello", `Svc-Forward-X-A: "1"`}, "1 message, 1 DLQ entry, 1 left out"},
		"responses of an archive":    {archive, nil, []string{"stubs:", "url: https://mail.test/send?token=***", "body: busy", "body: ok", "status: 503"}, "1 stub, 1 left out"},
		"requests of an archive":     {archive, []string{"--messages"}, []string{"messages:", "destination: https://app.test/hook", "Svc-Delay: 1h", "body: to=a"}, "3 messages"},
		"a recording of the proxy":   {recording, nil, []string{"stubs:", "url: https://api.test/v2/dlq"}, "1 stub"},
		"a single entry of the DLQ":  {`{"dlqId":"17-1","messageId":"m","url":"https://app.test/","header":{},"method":"POST"}`, nil, []string{"id: 17-1", "error: no response"}, "1 DLQ entry"},
		"an empty list":              {`{"messages":[]}`, nil, []string{"version: 1"}, "nothing"},
		"a body that is not text":    {`{"dlqId":"17-1","url":"https://app.test/","bodyBase64":"/w=="}`, nil, []string{"bodyBase64: /w=="}, "1 DLQ entry"},
		"a message without an URL":   {`{"messages":[{"dlqId":"1-1"}]}`, nil, []string{"version: 1"}, "1 left out"},
		"credentials that are meant": {exportedDLQ, []string{"--unmasked"}, []string{"Svc-Forward-Authorization: Bearer real-key"}, "1 failed run\n"},
	} {
		t.Run(fact, func(t *testing.T) {
			t.Parallel()
			code, out, said := importing(t, c.text, c.flags...)
			expect.Equal(t, "exit code", code, 0)
			for _, part := range c.want {
				expect.Contains(t, "fixture", out, part)
			}
			expect.Contains(t, "said", said, c.said)
			if len(c.flags) == 0 || c.flags[0] != "--unmasked" {
				expect.Lacks(t, "fixture", out, "real-key")
			}
			u := mockserver.RunT(t, mockserver.Config{Fixtures: []mockserver.Fixture{{Name: "imported.yaml", Text: []byte(out)}}, Outbound: "stub-only"})
			_ = u.Close()
		})
	}
}

// TestImportRepeats checks that a failure of production can be repeated: with its body and headers.
func TestImportRepeats(t *testing.T) {
	t.Parallel()
	_, out, _ := importing(t, exportedDLQ, "--secret", "Authorization=Bearer test-key")
	u := mockserver.RunT(t, mockserver.Config{Fixtures: []mockserver.Fixture{{Name: "imported.yaml", Text: []byte(out)}}})
	u.Stub("https://app.test/*", 200)
	var stdout, stderr bytes.Buffer
	code := runProgram(t.Context(), []string{"ctl", "--url", u.URL(), "dlq", "retry", "1725323658779-0"}, &stdout, &stderr)
	expect.Equal(t, "exit code: "+stderr.String(), code, 0)
	u.Settle()
	sent := u.Deliveries()[0]
	expect.Equal(t, "method", sent.Method, "PUT")
	expect.Equal(t, "body", string(sent.Request.Body), `{"id":7,"apiKey":"***"}`)
	expect.Equal(t, "header", sent.Request.Header.Get("X-Shop"), "a")
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	for fact, c := range map[string]struct{ text, want string }{
		"an empty file":            {"", "unexpected end of JSON input"},
		"a text":                   {"hello", "must be JSON, or a recording in YAML"},
		"other JSON":               {`{"a":1}`, "must be an HTTP archive (log.entries)"},
		"a list":                   {`[1]`, "cannot unmarshal array"},
		"a member of another type": {`{"messages":[{"url":7}]}`, "cannot unmarshal number"},
		"deep JSON":                {strings.Repeat(`{"a":`, 100_000), "exceeded max depth"},
		"an invalid destination":   {`{"messages":[{"dlqId":"1","url":"no url"}]}`, ""},
	} {
		t.Run(fact, func(t *testing.T) {
			t.Parallel()
			code, _, said := importing(t, c.text)
			if c.want != "" {
				expect.Equal(t, "exit code", code, 2)
				expect.Contains(t, "error", said, c.want)
			}
			expect.Equal(t, "lines", strings.Count(said, "\n"), 1)
		})
	}
	t.Run("a file that is too large", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "large.har")
		f, err := os.Create(file)
		expect.Nil(t, "file", err)
		expect.Nil(t, "size", f.Truncate(1<<30))
		expect.Nil(t, "close", f.Close())
		var stdout, stderr bytes.Buffer
		expect.Equal(t, "exit code", runProgram(t.Context(), []string{"import", file}, &stdout, &stderr), 2)
		expect.Contains(t, "error", stderr.String(), "larger than 256 MiB")
	})
}
