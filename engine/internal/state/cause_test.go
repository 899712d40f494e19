package state

import (
	"strings"
	"testing"
)

func TestHeadline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"the error of the JavaScript client":             {`{"error":"Error","message":"boom","stack":"Error: boom\n    at step (app.js:3:9)"}`, "boom"},
		"a text that a step has thrown":                  {`{"error":"Error","message":"An error occu` + `red while executing workflow: '\"warehouse closed\"'"}`, "warehouse closed"}, // spelt as by the client
		"an error of the JavaScript client with a class": {`{"error":"TypeError","message":"x is undefined","stack":"TypeError: x"}`, "TypeError: x is undefined"},
		"the error of the Python client":                 {`{"error": "ValueError", "message": "no such order"}`, "ValueError: no such order"},
		"a message with several lines":                   {`{"message":"first\nsecond"}`, "first"},
		"an error as text":                               {`{"error":"the printer is on fire"}`, "the printer is on fire"},
		"an error as an object":                          {`{"error":{"code":7,"message":"deep"}}`, "deep"},
		"a list of errors":                               {`{"errors":[{"message":"one"},{"message":"two"}]}`, "one"},
		"a problem document":                             {`{"type":"about:blank","title":"Conflict","detail":"it exists"}`, "it exists"},
		"FastAPI":                                        {`{"detail":[{"loc":["body"],"msg":"field required"}]}`, "field required"},
		"JSON without a message":                         {`{"ok":false}`, `{"ok":false}`},
		"a JSON text":                                    {`"gone"`, "gone"},
		"an error page of Express":                       {"<!DOCTYPE html>\n<html><head><title>Error</title></head><body><pre>Error: boom &lt;7&gt;<br> &nbsp; at app.js:3</pre></body></html>", "Error: boom <7>"},
		"an error page of nginx":                         {"<html>\r\n<head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>", "502 Bad Gateway"},
		"a page without a heading":                       {"<html><head><style>p{}</style></head><body><p>so sorry</p></body></html>", "so sorry"},
		"a traceback of Python":                          {"Traceback (most recent call last):\n  File \"app.py\", line 3\nValueError: boom\n", "ValueError: boom"},
		"text of several lines":                          {"\n\n  no such order\nat app.go:7\n", "no such order"},
		"bytes":                                          {"\xff\xfe", "2 bytes that are not text"},
		"nothing":                                        {" \n", ""},
		"a long line":                                    {strings.Repeat("é", 1000), strings.Repeat("é", 100) + "…"},
		"JSON beyond the depth searched":                 {strings.Repeat(`{"error":`, 50) + `"x"` + strings.Repeat("}", 50), strings.Repeat(`{"error":`, 50)[:200] + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := answerHeadline([]byte(c.body)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheCauseOfAnAttemptWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for err, want := range map[string]string{
		"":                                    "no response",
		"connection refused":                  "no response: connection refused",
		"no answer within the timeout of 30s": "no response within the timeout of 30s",
	} {
		if got := (&Outcome{Err: err}).Cause(); got != want {
			t.Errorf("cause of %q: got %q, want %q", err, got, want)
		}
	}
}

func TestTheCauseNamesTheStatusOnce(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"502 Bad Gateway":  "502 Bad Gateway",
		"502":              "502 response",
		"":                 "502 response",
		"5021 orders wait": "502 5021 orders wait",
		"504 upstream":     "502 504 upstream",
	} {
		if got := (&Outcome{Status: 502, Body: []byte(body)}).Cause(); got != want {
			t.Errorf("cause of %q: got %q, want %q", body, got, want)
		}
	}
}
