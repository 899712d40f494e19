package main

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/internal/recorder"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec/header"
)

// fronted runs the suite in real time against a stand-in behind a handler that changes its
// traffic. change, if not nil, changes the configuration.
func fronted(t *testing.T, front func(http.ResponseWriter, *http.Request, http.Handler), change func(*conformance.Config, *httptest.Server)) *report.Report {
	t.Helper()
	s, err := mockserver.Run(mockserver.Config{Log: quietLog(), Dialect: neutral()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { front(w, r, s) }))
	t.Cleanup(server.Close)
	own := unhurriedTarget(environment(s), false)
	own.Target.URLs = target.URLs{Base: server.URL, KV: server.URL + "/kv"}
	cfg := conformance.Config{Target: own, Concurrency: 8}
	if change != nil {
		change(&cfg, server)
	}
	judged, err := conformance.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return judged
}

// none checks that no result has one of the verdicts.
func none(t *testing.T, judged *report.Report, verdicts ...report.Verdict) {
	t.Helper()
	for i := range judged.Results {
		if r := &judged.Results[i]; slices.Contains(verdicts, r.Verdict) {
			t.Errorf("%s %s: %s: %s", r.Verdict, r.Reason, r.Name, r.Detail)
		}
	}
}

// reasons counts the results by reason.
func reasons(judged *report.Report) map[report.Reason]int {
	count := map[report.Reason]int{}
	for i := range judged.Results {
		count[judged.Results[i].Reason]++
	}
	return count
}

// Steps and drivers wait when the target asks them to.
func TestConformWaitsWhenItIsAskedTo(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it takes real time; TestConformOwn looks for races")
	var asked atomic.Int64
	judged := fronted(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if n := asked.Add(1); n%7 == 0 && n < 80 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	}, func(cfg *conformance.Config, _ *httptest.Server) {
		cfg.Requirements = []string{"REQ-PUB-001", "REQ-PUB-002", "REQ-GRP-001", "REQ-LOG-007"}
	})
	none(t, judged, report.Fail, report.HarnessError, report.Inconclusive)
	if code := judged.ExitCode(); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
}

// When the target becomes unreachable, the run ends with what was judged so far.
func TestConformEndsWithItsTarget(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(*httptest.Server, http.ResponseWriter){
		"its connections are refused": func(s *httptest.Server, _ http.ResponseWriter) {
			_ = s.Listener.Close()
			panic(http.ErrAbortHandler)
		},
		"a gateway answers for it": func(_ *httptest.Server, w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			var server atomic.Pointer[httptest.Server]
			judged := fronted(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if asked.Add(1) > 150 {
					away(server.Load(), w)
					return
				}
				next.ServeHTTP(w, r)
			}, func(_ *conformance.Config, s *httptest.Server) { server.Store(s) })
			none(t, judged, report.Fail, report.Warn, report.HarnessError)
			if code := judged.ExitCode(); code != report.ExitPreflight {
				t.Errorf("exit %d, want %d", code, report.ExitPreflight)
			}
			count := reasons(judged)
			if count[""] == 0 || count[report.TargetUnreachable] == 0 {
				t.Errorf("%d results with a verdict, %d without, want some of each", count[""], count[report.TargetUnreachable])
			}
		})
	}
}

// A broken connection is not a failure of the target and does not end the run.
func TestConformDoesNotJudgeTransport(t *testing.T) {
	t.Parallel()
	judged := fronted(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.HasPrefix(r.URL.Path, "/v2/workflows/messageLogs") && r.URL.RawQuery != "" {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	}, func(cfg *conformance.Config, _ *httptest.Server) {
		cfg.Requirements = []string{"REQ-PUB-001", "REQ-LOG-007"}
	})
	none(t, judged, report.Fail, report.HarnessError)
	if n := reasons(judged)[report.TransportFailed]; n == 0 {
		t.Errorf("reasons %v, want some %s", reasons(judged), report.TransportFailed)
	}
}

// A set-up object that cannot be created is not a failure of the target.
func TestConformDoesNotJudgeSetUp(t *testing.T) {
	t.Parallel()
	judged := fronted(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.HasPrefix(r.URL.Path, "/v2/topics/") {
			http.Error(w, "no groups today", http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(w, r)
	}, func(cfg *conformance.Config, _ *httptest.Server) { cfg.Requirements = []string{"REQ-PUB-002"} })
	none(t, judged, report.Fail, report.HarnessError)
	if !slices.ContainsFunc(judged.Results, func(r report.Result) bool {
		return r.Reason == report.DriverFailed && strings.Contains(r.Detail, "driver group: POST ")
	}) {
		t.Errorf("no result names the driver: %v", reasons(judged))
	}
}

// Each wrong credential is found separately, before anything is judged.
func TestConformTriesEachCredential(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Dialect: neutral()})
	for key, spoil := range map[string]func(*target.Auth){
		"target.auth.basic":         func(a *target.Auth) { a.Basic.Password = "wrong-password" },
		"target.auth.bearer":        func(a *target.Auth) { a.Bearer = "wrong-token" },
		"target.auth.kv_bearer":     func(a *target.Auth) { a.KVBearer = "wrong-token" },
		"target.auth.vector_bearer": func(a *target.Auth) { a.VectorBearer = "wrong-token" },
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			own := unhurriedTarget(environment(u), false)
			delete(own.Drivers, "account")
			spoil(&own.Target.Auth)
			_, err := conformance.Run(t.Context(), conformance.Config{Target: own})
			if expect.True(t, "an error", err != nil) {
				expect.Contains(t, "error", err.Error(), "the target refuses "+key+": ")
				expect.Equal(t, "how often the error names a key", strings.Count(err.Error(), "target.auth."), 1)
			}
		})
	}
}

// What a target has not shown in several scenarios is no longer waited for in a Given.
func TestConformStopsWaitingForWhatNeverComes(t *testing.T) {
	t.Parallel()
	judged := fronted(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.URL.Path == "/v2/workflows/dlq" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"messages":[]}`) // the client may have disconnected
			return
		}
		next.ServeHTTP(w, r)
	}, func(cfg *conformance.Config, _ *httptest.Server) {
		cfg.Requirements = []string{"REQ-RST-002", "REQ-RST-003"}
		cfg.Target.Timing.RetryBudget, cfg.Target.Timing.SettleBudget = time.Second, time.Second
		cfg.Concurrency, cfg.Target.Timing.Poll.Max = 1, 10*time.Millisecond
	})
	none(t, judged, report.Pass, report.Fail, report.Warn, report.HarnessError)
	waited := 0
	for i := range judged.Results {
		r := &judged.Results[i]
		expect.Equal(t, "reason", r.Reason, report.PrerequisiteFailed)
		if !strings.Contains(r.Detail, "did not wait") {
			waited++
		}
	}
	expect.Equal(t, "scenarios that waited", waited, 3)
}

// The time limit of an answer is that of the target file.
func TestConformWaitsForAnAnswerAsLongAsTheTargetFileSays(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration]string{time.Millisecond: "timing.request_timeout: no answer within 1ms", time.Minute: ""} {
		t.Run(limit.String(), func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, mockserver.Config{Dialect: neutral()})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if limit < time.Second {
					<-r.Context().Done() // it never answers in time
					return
				}
				u.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			own := unhurriedTarget(environment(u), false)
			own.Target.URLs, own.Timing.RequestTimeout = target.URLs{Base: server.URL, KV: server.URL + "/kv"}, limit
			_, err := conformance.Run(t.Context(), conformance.Config{Target: own, Requirements: []string{"REQ-LOG-001"}})
			if want == "" {
				expect.Nil(t, "error of the run", err)
			} else if expect.True(t, "an error", err != nil) {
				expect.Contains(t, "error", err.Error(), want)
			}
		})
	}
}

// A file of known failures that names nothing is an error in the usage.
func TestConformRefusesUnknownEntriesOfKnownFailures(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- {id: REQ-PUB-01, reason: x}":                        `known.yaml:1: [0].id: invalid value "REQ-PUB-01": must be a requirement`,
		"- {id: 'REQ-PUB-*', reason: x}\n- {id: A, reason: x}": `known.yaml:2: [1].id: invalid value "A": must be a requirement`,
		"- {id: REQ-PUB-001}":                                  `known.yaml:1: [0].reason: missing: must say why the failure is expected`,
	} {
		file := filepath.Join(t.TempDir(), "known.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		own := ownTarget(nil, false)
		own.ExpectedFailures = file
		_, running := conformance.Run(t.Context(), conformance.Config{Target: own})
		_, listing := conformance.List(conformance.Config{Target: own}) // --dry-run and --list
		for _, err := range []error{running, listing} {
			if expect.True(t, "the error is one of the usage", errors.Is(err, conformance.ErrUsage)) {
				expect.Contains(t, "error", err.Error(), want)
			}
		}
	}
}

// A failure is confirmed by another run of its scenario; what fails in one of two is unreliable,
// and never green.
func TestConformConfirmsFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		broken  int64 // number of deliveries that lose their header
		verdict report.Verdict
		tries   []report.Verdict
		code    int
	}{
		"it fails twice":       {100, report.Fail, []report.Verdict{report.Fail, report.Fail}, report.ExitFailed},
		"it fails once of two": {1, report.Unreliable, []report.Verdict{report.Fail, report.Pass}, report.ExitPartial},
		"it passes":            {0, report.Pass, nil, report.ExitConformant},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var published atomic.Int64
			judged := fronted(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.Header.Get("Svc-Forward-X-Order") != "" && published.Add(1) <= c.broken {
					r.Header.Del("Svc-Forward-X-Order")
				}
				next.ServeHTTP(w, r)
			}, func(cfg *conformance.Config, _ *httptest.Server) {
				cfg.Names, cfg.Accept = []string{"A header with the forward prefix reaches the destination"}, true
			})
			expect.Equal(t, "verdict", judged.Results[0].Verdict, c.verdict)
			expect.Equal(t, "tries", judged.Results[0].Tries, c.tries)
			expect.Equal(t, "exit code", judged.ExitCode(), c.code)
		})
	}
}

// With --repeat, each scenario runs that often.
func TestConformRepeats(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for verdicts, not for races")
	judged := fronted(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) },
		func(cfg *conformance.Config, _ *httptest.Server) {
			cfg.Requirements, cfg.Repeat = []string{"REQ-PUB-001"}, 3
		})
	for i := range judged.Results {
		expect.Equal(t, judged.Results[i].Name, judged.Results[i].Tries, []report.Verdict{report.Pass, report.Pass, report.Pass})
	}
}

// A credential is wrong when it is answered like a wrong one, whatever the status.
func TestConformComparesCredentialsWithWrongOnes(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Dialect: neutral()})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rec := recorder.Serve(u, r); rec.Status == http.StatusUnauthorized {
			http.NotFound(w, r)
		} else {
			maps.Copy(w.Header(), rec.Header())
			w.WriteHeader(rec.Status)
			_, _ = w.Write(rec.Body.Bytes()) // the client may have disconnected
		}
	}))
	t.Cleanup(server.Close)
	for key, spoil := range map[string]func(*target.Auth){
		"target.auth.basic":         func(a *target.Auth) { a.Basic.Password = "expired-password" },
		"target.auth.bearer":        func(a *target.Auth) { a.Bearer = "expired-token" },
		"target.auth.kv_bearer":     func(a *target.Auth) { a.KVBearer = "expired-token" },
		"target.auth.vector_bearer": func(a *target.Auth) { a.VectorBearer = "expired-token" },
	} {
		for claims, profiles := range map[string][]string{"claimed": target.ProfileNames, "not claimed": nil} {
			t.Run(key+" "+claims, func(t *testing.T) {
				t.Parallel()
				own := unhurriedTarget(environment(u), false)
				delete(own.Drivers, "account")
				own.Target.URLs, own.Profiles = target.URLs{Base: server.URL, KV: server.URL + "/kv"}, profiles
				spoil(&own.Target.Auth)
				judged, err := conformance.Run(t.Context(), conformance.Config{Target: own, Requirements: []string{"REQ-STA-001", "REQ-VEC-001"}})
				if err == nil { // an area that nobody claims may be missing
					none(t, judged, report.Fail, report.Warn)
					expect.True(t, "only what is not claimed is judged", profiles == nil)
					return
				}
				expect.Contains(t, "error", err.Error(), "the target refuses "+key+": ")
			})
		}
	}
}

// A limit ends the run, and the scenarios that it interrupts do not fail.
func TestConformEndsAtItsLimits(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]func(*target.Limits){
		"limits.max_requests: 60": func(l *target.Limits) { l.MaxRequests = 60 },
		"limits.max_messages: 20": func(l *target.Limits) { l.MaxMessages = 20 },
		"limits.wall: 1s":         func(l *target.Limits) { l.Wall = time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judged := fronted(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) },
				func(cfg *conformance.Config, _ *httptest.Server) { limit(&cfg.Target.Limits) })
			none(t, judged, report.Fail, report.Warn, report.HarnessError)
			if code := judged.ExitCode(); code != report.ExitBudget || judged.Exhausted != name {
				t.Errorf("exit %d, limit %q; want %d, %q", code, judged.Exhausted, report.ExitBudget, name)
			}
		})
	}
}

// The waits between retries may grow without bound: a late retry after the first one is
// inconclusive.
func TestConformDoesNotJudgeALaterRetryThatIsSlow(t *testing.T) {
	t.Parallel()
	judged := fronted(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r.Header.Set(header.RetryDelay, "100 * pow(600, retried)") // 100 ms, one minute
		next.ServeHTTP(w, r)
	}, func(cfg *conformance.Config, _ *httptest.Server) {
		cfg.Requirements, cfg.Areas = []string{"REQ-RTY-002"}, []string{"retry"}
		cfg.Target.Timing.RetryBudget = 2 * time.Second
		delete(cfg.Target.Bindings.Headers, "retry_delay")
	})
	none(t, judged, report.Fail, report.Warn, report.HarnessError)
	expect.Equal(t, "scenarios that passed", reasons(judged)[""], 1)
	expect.Equal(t, "scenarios that ran out of time", reasons(judged)[report.BudgetExhausted], 2)
}

// A missing operation fails at once: the suite does not wait for it.
func TestConformDoesNotWaitForAnOperationThatIsMissing(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	judged := fronted(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.HasPrefix(r.URL.Path, "/v2/workflows/messageLogs") {
			asked.Add(1)
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	}, func(cfg *conformance.Config, _ *httptest.Server) {
		cfg.Target.Profiles = []string{"WF-READ"}
		cfg.Requirements = []string{"REQ-LOG-001", "REQ-LOG-007"}
	})
	if code := judged.ExitCode(); code != report.ExitFailed {
		t.Errorf("exit %d, want %d", code, report.ExitFailed)
	}
	if n, most := asked.Load(), int64(2*len(judged.Results)+1); n > most {
		t.Errorf("%d requests to the missing operation for %d scenarios, want at most %d", n, len(judged.Results), most)
	}
}

// A failure shows the exchange that was judged, as it was sent, and a command that repeats
// it after the run.
func TestConformShowsWhatWasJudged(t *testing.T) {
	t.Parallel()
	var server atomic.Pointer[httptest.Server]
	judged := fronted(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.Contains(r.URL.Path, "/r/") && r.Header.Get("Svc-Forward-X-Case") != "" || r.URL.Query().Get("repeat") != "" {
			w.Header().Set("Svc-Fault", "on the wire")
		}
		if strings.HasPrefix(r.URL.Path, "/v2/publish/") && strings.Contains(r.URL.Path, "/a/b") {
			w.Header().Set("Svc-Fault", "on the wire")
			w.WriteHeader(http.StatusTeapot)
			return
		}
		next.ServeHTTP(w, r)
	}, func(cfg *conformance.Config, s *httptest.Server) {
		server.Store(s)
		cfg.Requirements = []string{"REQ-PUB-001"}
	})
	found := slices.IndexFunc(judged.Results, func(r report.Result) bool { return r.Verdict == report.Fail })
	if found < 0 {
		t.Fatalf("nothing failed: %v", judged.Results)
	}
	r := &judged.Results[found]
	x := &r.Exchanges[r.Failure.Exchange]
	if x.Status != http.StatusTeapot {
		t.Fatalf("the exchange that is shown answered %d, want %d", x.Status, http.StatusTeapot)
	}
	if got := x.AnswerHdr["Svc-Fault"]; !slices.Equal(got, []string{"on the wire"}) {
		t.Errorf("header Svc-Fault: got %q, want it as it came", got)
	}
	if strings.Contains(x.Curl, "/r/cf") || !strings.Contains(x.Curl, `"$RECEIVER_URL"`) {
		t.Errorf("curl still names the receiver of the run: %s", x.Curl)
	}
	for _, name := range []string{"RECEIVER_URL: ", "TARGET_TOKEN: "} {
		if !slices.ContainsFunc(x.Notes, func(note string) bool { return strings.HasPrefix(note, name) }) {
			t.Errorf("no note explains %s: %q", name, x.Notes)
		}
	}
	programs.Need(t, "the command of a failure is not run", "curl")
	c := exec.CommandContext(t.Context(), "sh", "-c", x.Curl)
	c.Env = append(os.Environ(), "RECEIVER_URL=http://127.0.0.1:9", "TARGET_TOKEN=any", "no_proxy=*")
	out, err := c.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte(" 418 ")) {
		t.Errorf("the command: %v\n%s\n%s", err, x.Curl, out)
	}
}

// A run that a limit ends early still writes its reports.
func TestConformWritesReportsOfWhatWasJudged(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Dialect: neutral()})
	own := unhurriedTarget(environment(u), false)
	dir := t.TempDir()
	file := filepath.Join(dir, "target.yaml")
	text := "apiVersion: conformance/v1\ntarget:\n  name: own\n  urls: {base: '" + own.Target.URLs.Base + "', vector: '" + own.Target.URLs.Vector + "'}\n  auth: {bearer: '" + string(own.Target.Auth.Bearer) + "'}\n" +
		"bindings: {publish: {method: POST}}\nlimits: {max_requests: 12}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := runProgram(t.Context(), []string{"conform", "--target", file, "--area", "publish", "--report", "json=" + filepath.Join(dir, "r.json")}, &out, &errs)
	if code != report.ExitBudget {
		t.Errorf("exit %d, want %d: %s", code, report.ExitBudget, errs.String())
	}
	written, err := os.ReadFile(filepath.Join(dir, "r.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"verdict": "a limit ended the run: limits.max_requests: 12"`, `"exitCode": 6`, `"--area publish"`} {
		if !bytes.Contains(written, []byte(want)) {
			t.Errorf("the report lacks %s", want)
		}
	}
	if bytes.Contains(written, []byte(own.Target.Auth.Bearer)) {
		t.Error("the report shows the token")
	}
}

// A run that does not end breaks the sentences about the end of a run, and no other.
func TestConformDoesNotJudgeWhatARunLeavesBeforeItsEnd(t *testing.T) {
	t.Parallel()
	judged := fronted(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		rec := recorder.Serve(next, r)
		body := rec.Body.Bytes()
		if strings.HasPrefix(r.URL.Path, "/v2/workflows/messageLogs") {
			body = bytes.ReplaceAll(body, []byte(`"RUN_SUCCESS"`), []byte(`"RUN_CONTINUES"`))
		}
		maps.Copy(w.Header(), rec.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(rec.Status)
		_, _ = w.Write(body)
	}, func(cfg *conformance.Config, _ *httptest.Server) {
		cfg.Requirements = []string{"REQ-LOG-014", "REQ-LOG-015", "REQ-LOG-016", "REQ-LOG-019", "REQ-LOG-028", "REQ-LOG-030", "REQ-DLQ-015"}
		cfg.Target.Timing.RetryBudget, cfg.Target.Timing.SettleBudget = 2*time.Second, 2*time.Second
	})
	none(t, judged, report.Fail, report.Warn, report.HarnessError)
	if n := reasons(judged)[report.PrerequisiteFailed]; n < 7 {
		t.Errorf("scenarios whose run did not end: got %d, want at least 7", n)
	}
}

// A sentence about a run that waits is not judged when the wait may be over.
func TestConformDoesNotJudgeARunWhoseWaitIsOver(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "a wait passes in real time")
	effort.Long(t, "a wait passes in real time")
	for name, slow := range map[string]func(r *http.Request, body []byte) bool{
		"A run in progress is not recorded as RUN_SUCCESS": func(r *http.Request, body []byte) bool {
			return strings.HasPrefix(r.URL.Path, "/v2/workflows/messageLogs") && bytes.Contains(body, []byte("WAITER_ADDED"))
		},
		"A wait that is notified does not say that it timed out": func(r *http.Request, _ []byte) bool { return strings.HasPrefix(r.URL.Path, "/v2/notify") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var held atomic.Bool
			judged := fronted(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if slow(r, recordedCopy(next, r)) && !held.Swap(true) {
					timer := time.NewTimer(25 * time.Second)
					defer timer.Stop()
					select {
					case <-timer.C:
					case <-r.Context().Done():
					}
				}
				next.ServeHTTP(w, r)
			}, func(cfg *conformance.Config, _ *httptest.Server) { cfg.Names = []string{name} })
			none(t, judged, report.Fail, report.Warn, report.HarnessError, report.Pass)
			expect.Equal(t, "scenarios without a verdict", reasons(judged)[report.PrerequisiteFailed], 1)
		})
	}
}

// recordedCopy returns the answer to a GET, nil for another request.
func recordedCopy(next http.Handler, r *http.Request) []byte {
	if r.Method != http.MethodGet {
		return nil
	}
	return recorder.Serve(next, r.Clone(r.Context())).Body.Bytes()
}

// writtenLate leaves events out of the log that a server which writes its log in the background
// has not written yet.
func writtenLate(written func(e map[string]any, age time.Duration) bool) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		now := time.Now()
		a := serverAnswer(next, r)
		if v, ok := decodeJSON(a.body).(map[string]any); ok && listingLog(r) {
			list, _ := v["events"].([]any)
			v["events"] = slices.DeleteFunc(list, func(e any) bool {
				event, _ := e.(map[string]any)
				return !written(event, now.Sub(time.UnixMilli(integerOf(event, "time"))))
			})
			a.body = encodeJSON(v)
		}
		a.write(w)
	}
}

// A target may write its log late.
func TestConformAcceptsALogThatIsWrittenLate(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for verdicts, not for races")
	effort.Long(t, "it waits for the log in real time")
	const late = 700 * time.Millisecond
	for name, written := range map[string]func(e map[string]any, age time.Duration) bool{
		"each event": func(_ map[string]any, age time.Duration) bool { return age > late },
		"all events once in a while": func(e map[string]any, age time.Duration) bool {
			return time.UnixMilli(integerOf(e, "time")).Truncate(late).Before(time.UnixMilli(integerOf(e, "time")).Add(age).Truncate(late))
		},
		"events of messages after those of runs": func(e map[string]any, age time.Duration) bool { return e["stepInfo"] == nil || age > late },
		"events of runs after those of messages": func(e map[string]any, age time.Duration) bool { return e["stepInfo"] != nil || age > late },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judged := fronted(t, writtenLate(written), func(cfg *conformance.Config, _ *httptest.Server) {
				cfg.Areas, cfg.Tags, cfg.Concurrency = []string{"log", "run", "restart", "dlq", "stats"}, "not @time-long", 24
			})
			none(t, judged, report.Fail, report.Warn, report.Unreliable, report.HarnessError, report.Inconclusive)
		})
	}
}
