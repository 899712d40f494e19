package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/client"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/spec"
)

// greeting is the answer to hello of the adapters in this file.
const greeting = `read l; echo '{"id":1,"protocol":1,"name":"toy","version":"1","language":"sh","operations":["publish"],"options":[],"features":[],"depends":["jwt 2.9.0"]}'; `

// needsShell skips a test where adapters in sh do not run.
func needsShell(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "windows" {
		programs.SkipHere(t, "adapters in sh are not tried on Windows")
	}
}

// each runs a script for each call, which has its number in $id.
func each(t testing.TB, script string) string {
	t.Helper()
	needsShell(t)
	return "sh:" + greeting + `while read l; do id=${l#*'"id":'}; id=${id%%,*}; ` + script + `; done`
}

// answered answers a call.
const answered = `echo '{"id":'$id',"result":{"messageId":"msg_1"}}'`

// clientRun judges an adapter by the cases of one requirement.
func clientRun(t *testing.T, command string, requirements ...string) (*report.Report, error) {
	t.Helper()
	needsShell(t)
	return conformance.Run(t.Context(), conformance.Config{
		Client: &client.Config{Command: command, CallTimeout: effort.Wait(10 * time.Second)}, Requirements: requirements, Concurrency: 1,
	})
}

func TestAnAdapterThatCannotBeUsedHasNoVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, command, want string }{
		{"the program does not exist", "no-such-program --x", "the adapter cannot be started"},
		{"the command is empty", " ", "the command is empty"},
		{"a quote is not closed", "node 'adapter.mjs", "a quote is not closed"},
		{"it ends at once", "sh:echo oh no >&2; exit 4", "the adapter ended: exit status 4; its standard error: oh no"},
		{"it speaks no common version", `sh:read l; echo '{"id":1,"protocol":2,"name":"x","operations":["publish"]}'; read l`, "protocol: got 2, want 1"},
		{"it says nothing about itself", `sh:read l; echo '{"id":1,"protocol":1}'; read l`, "name and operations must be present"},
		{"its greeting is not JSON", `sh:read l; echo '{"id":1,'; read l`, "an answer that is not valid"},
		{"it writes an endless line", `sh:read l; head -c 20000000 /dev/zero | tr '\0' a; read l`, "a line of more than 16 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := clientRun(t, c.command, "REQ-CLI-001")
			expect.True(t, "errors.Is(err, conformance.ErrPreflight)", errors.Is(err, conformance.ErrPreflight))
			expect.Contains(t, "the error", fmt.Sprint(err), c.want)
			expect.Equal(t, "lines of the error", strings.Count(fmt.Sprint(err), "\n"), 0)
		})
	}
}

func TestAnAdapterThatBreaksTheProtocolEndsTheRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, want string }{
		{"it answers twice", answered + "; " + answered, "twice"},
		{"it answers a call that was not made", `echo '{"id":99,"result":1}'`, "a call that was not made"},
		{"its answer is not JSON", `echo '{"id":'$id',"result":{'`, "an answer that is not valid"},
		{"its answer says nothing", `echo '{"id":'$id'}'`, "an answer must have result, error, unsupported or broken"},
		{"its answer is endless", `head -c 20000000 /dev/zero | tr '\0' a`, "a line of more than 16 MiB"},
		{"it ends at the third time", "exit 3", "the adapter ended: exit status 3; it is the adapter number 3 of its lane that failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := clientRun(t, each(t, c.script), "REQ-CLI-001", "REQ-CLI-020", "REQ-CLI-027", "REQ-CLI-003")
			if err != nil {
				t.Fatal(err)
			}
			expect.Equal(t, "exit code", r.ExitCode(), report.ExitPreflight)
			expect.Contains(t, "the verdict", r.Verdict(), c.want)
		})
	}
}

func TestAnAdapterThatDoesNotAnswerEndsTheRun(t *testing.T) {
	t.Parallel()
	r, err := conformance.Run(t.Context(), conformance.Config{
		Client: &client.Config{Command: each(t, "true"), CallTimeout: 50 * time.Millisecond}, Requirements: []string{"REQ-CLI-001", "REQ-CLI-020"}, Concurrency: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "exit code", r.ExitCode(), report.ExitPreflight)
	expect.Contains(t, "the verdict", r.Verdict(), "did not answer publish within 50ms")
}

func TestNoiseIsOnlyNoise(t *testing.T) {
	t.Parallel()
	r, err := conformance.Run(t.Context(), conformance.Config{
		Client: &client.Config{Command: each(t, `echo starting; echo '{"level":"info"}'; printf 'debug \036'; `+answered)}, Names: []string{"response/ids:publish", "connection/noise"}, Concurrency: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "exit code", r.ExitCode(), report.ExitConformant)
	for i := range r.Results {
		switch x := &r.Results[i]; x.Name {
		case "connection/noise":
			expect.Equal(t, "verdict on the noise", x.Verdict, report.Warn)
			expect.Contains(t, "detail", x.Detail, `starting | {"level":"info"} | debug`)
		default:
			expect.Equal(t, "verdict on the call", x.Verdict, report.Pass)
		}
	}
}

func TestAClientThatSendsNothingFails(t *testing.T) {
	t.Parallel()
	r, err := clientRun(t, each(t, answered), "REQ-CLI-001")
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "exit code", r.ExitCode(), report.ExitFailed)
	failed := 0
	for i := range r.Results {
		if x := &r.Results[i]; x.Verdict == report.Fail {
			failed++
			expect.Contains(t, "detail", x.Detail, "the library sent no request")
		}
	}
	expect.True(t, "one result failed", failed > 0)
}

func TestAnAdapterThatSaysBrokenIsInconclusive(t *testing.T) {
	t.Parallel()
	for _, member := range []string{"broken", "unsupported"} {
		r, err := clientRun(t, each(t, `echo '{"id":'$id',"`+member+`":"not today"}'`), "REQ-CLI-001")
		if err != nil {
			t.Fatal(err)
		}
		expect.Equal(t, member+": exit code", r.ExitCode(), report.ExitPartial)
	}
}

// Nothing says that the library is the reason; a call with a timeout is another matter.
func TestAnAdapterThatDoesNotAnswerInTimeIsInconclusive(t *testing.T) {
	t.Parallel()
	r, err := conformance.Run(t.Context(), conformance.Config{
		Client: &client.Config{Command: each(t, "true"), CallTimeout: 50 * time.Millisecond}, Names: []string{"response/ids:publish"}, Concurrency: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "exit code", r.ExitCode(), report.ExitPartial)
	expect.Equal(t, "verdict", r.Results[0].Verdict, report.Inconclusive)
	expect.Contains(t, "detail", r.Results[0].Detail, "the adapter did not answer publish within 50ms")
}

// The types of a library may lack members of a result: those are not offered, like operations.
func TestMembersOfResultsThatTheLibraryHasNotAreNotOffered(t *testing.T) {
	t.Parallel()
	hello := func(without string) string {
		return strings.Replace(each(t, `echo '{"id":'$id',"result":{"other":1}}'`), `"features":[]`, `"features":[],"without":[`+without+`]`, 1)
	}
	for without, want := range map[string]report.Verdict{``: report.Fail, `"messageId"`: report.NotApplicable, `"messageId@publish"`: report.NotApplicable, `"messageId@batch"`: report.Fail} {
		r, err := conformance.Run(t.Context(), conformance.Config{Client: &client.Config{Command: hello(without), CallTimeout: effort.Wait(10 * time.Second)}, Names: []string{"response/ids:publish"}, Concurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		expect.Equal(t, "verdict without "+without+": "+r.Results[0].Detail, r.Results[0].Verdict, want)
	}
}

func TestAProfileWithoutOperationsIsPartial(t *testing.T) {
	t.Parallel()
	r, err := conformance.Run(t.Context(), conformance.Config{Client: &client.Config{Command: each(t, answered)}, Profiles: []string{"CLI-DLQ"}, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "exit code", r.ExitCode(), report.ExitPartial)
}

func TestTwoRunsDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			r, err := clientRun(t, each(t, answered), "REQ-CLI-030")
			if err != nil {
				t.Error(err)
				return
			}
			expect.Equal(t, "exit code", r.ExitCode(), report.ExitPartial) // nothing is judged
		})
	}
	running.Wait()
}

func TestKnownFailuresOfAClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, known string
		code        int
	}{
		{"a requirement", "- {id: REQ-CLI-001, reason: it sends nothing}\n", report.ExitConformant},
		{"a case of a requirement", "- {id: 'REQ-CLI-001:connection/bearer*', reason: it sends nothing}\n", report.ExitConformant},
		{"another case", "- {id: 'REQ-CLI-001:connection/bearer:publish', reason: it sends nothing}\n", report.ExitFailed},
		{"with a dependency of the client", "- {id: REQ-CLI-001, reason: it sends nothing, depends: 'jwt 2.*'}\n", report.ExitConformant},
		{"with another dependency", "- {id: REQ-CLI-001, reason: it sends nothing, depends: jwt 1.0}\n", report.ExitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := conformance.Config{Client: &client.Config{Command: each(t, answered)}, Requirements: []string{"REQ-CLI-001"}, Concurrency: 1}
			cfg.Target.ExpectedFailures = filepath.Join(t.TempDir(), "known.yaml")
			if err := os.WriteFile(cfg.Target.ExpectedFailures, []byte(c.known), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := conformance.Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			expect.Equal(t, "exit code", r.ExitCode(), c.code)
		})
	}
}

func TestEachRequirementOfClientsHasACase(t *testing.T) {
	t.Parallel()
	register, err := spec.LoadRequirements()
	if err != nil {
		t.Fatal(err)
	}
	cases, err := conformance.List(conformance.Config{Client: &client.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	judged := map[string]bool{}
	for i := range cases {
		judged[cases[i].Requirements[0]] = true
	}
	for _, q := range register.Requirements {
		if strings.HasPrefix(q.ID, "REQ-CLI-") && !judged[q.ID] && q.Excluded == "" {
			t.Errorf("cases about %s: got none, want one: %s", q.ID, q.Text)
		}
	}
}

func TestAClientThatCallsAnotherHostFails(t *testing.T) {
	t.Parallel()
	programs.Need(t, "a client that calls another host is NOT tried", "curl")
	r, err := clientRun(t, each(t, `curl -s -o /dev/null http://elsewhere.example/; `+answered), "REQ-CLI-143", "REQ-CLI-027")
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "exit code", r.ExitCode(), report.ExitFailed)
	for i := range r.Results {
		if x := &r.Results[i]; x.Verdict == report.Fail {
			expect.Contains(t, "detail", x.Detail, "elsewhere.example")
			expect.True(t, "REQ-CLI-008 is named", slices.Contains(x.Requirements, "REQ-CLI-008"))
		}
	}
}

func TestALibraryWithAFixedHostIsJudgedThroughTheProxy(t *testing.T) {
	t.Parallel()
	programs.Need(t, "a client that calls another host is NOT tried", "curl")
	fixed := strings.Replace(each(t, `t=${l#*'"token":"'}; t=${t%%\"*}; out=$(curl -s -X POST -H "Authorization: Bearer $t" -d hello https://api.example/v2/publish/https://a.test/x); echo '{"id":'$id',"result":'"$out"'}'`),
		`"features":[]`, `"features":["tls"],"fixed_host":"api.example","sentinel":"publish"`, 1)
	r, err := clientRun(t, fixed, "REQ-CLI-027", "REQ-CLI-004", "REQ-CLI-090")
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "verdict", r.Verdict(), "selection: all of it holds")
}

func TestAnInterruptedRunEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := conformance.Run(ctx, conformance.Config{
		Client: &client.Config{Command: each(t, answered)}, Requirements: []string{"REQ-CLI-001"}, Concurrency: 1,
		Progress: func(int, int, []string, *report.Result) { cancel() },
	})
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "exit code", r.ExitCode(), report.ExitInterrupted)
	for i := range r.Results {
		expect.True(t, r.Results[i].Name+" is no harness error", r.Results[i].Verdict != report.HarnessError)
	}
}

func TestNumbersOfAnErrorAreComparedAsNumbers(t *testing.T) {
	t.Parallel()
	for reset, verdict := range map[string]report.Verdict{"1700000900": report.Pass, `"1700000900"`: report.Pass, "1700000901": report.Fail, "null": report.Fail} {
		limited := `echo '{"id":'$id',"error":{"class":"Limit","message":"daily","limit":1000,"remaining":0,"reset":` + reset + `}}'`
		r, err := conformance.Run(t.Context(), conformance.Config{
			Client: &client.Config{Command: strings.Replace(each(t, limited), `"features":[]`, `"features":["error.rate_limit"]`, 1)}, Names: []string{"error/daily-limit:publish"}, Concurrency: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		expect.Equal(t, "verdict for "+reset, r.Results[0].Verdict, verdict)
	}
}
