package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestWhySaysTheNextStep explains a message that waits: the first command is the one that the API
// names, and running it ends the wait.
func TestWhySaysTheNextStep(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://app.test/*", 200)
	id := u.Publish("https://app.test/x", nil, "Svc-Delay: 90m")
	run := func(args ...string) string {
		var out, errs bytes.Buffer
		expect.Equal(t, "exit code", runProgram(t.Context(), append(args, "--url", u.URL()), &out, &errs), 0)
		return out.String()
	}
	var answer struct {
		Reasons []struct{ Next struct{ Command string } }
	}
	expect.Nil(t, "error of the JSON", json.Unmarshal([]byte(run("why", id, "-o", "json")), &answer))
	expect.Equal(t, "the next step of the API", answer.Reasons[0].Next.Command, "understudy ctl advance 1h30m")
	expect.Contains(t, "the text", run("why", id), "Next\n  understudy ctl advance 1h30m  # moves the clock to that time\n")
	run("ctl", "advance", "1h30m")
	expect.Contains(t, "the text after the step", run("why", id), "delivered")
}
