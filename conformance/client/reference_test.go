package client_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/understudy-mock/understudy/conformance/client"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
)

// judged are the verdicts of the suite about the reference client, for the cases of one
// requirement, or of all.
func judged(t *testing.T, s switches, requirement string) []report.Result {
	t.Helper()
	cases, err := client.Cases()
	if err != nil {
		t.Fatal(err)
	}
	lanes := 1
	if requirement == "" {
		lanes = 4
	}
	session, err := client.Start(t.Context(), client.Config{
		Command: "'" + os.Args[0] + "' reference-client --mutant '" + s.mutant + "' --latitude '" + s.latitude + "'", Dialect: "svc", Concurrency: lanes,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close(t.Context())
	var results []report.Result
	for i := range cases {
		if requirement == "" || strings.TrimPrefix(cases[i].Requirement.ID, "REQ-CLI-") == requirement {
			results = append(results, session.Run(t.Context(), &cases[i]))
		}
	}
	return results
}

func TestTheReferenceClientHoldsEveryRequirement(t *testing.T) {
	t.Parallel()
	for _, r := range judged(t, switches{}, "") {
		if r.Verdict != report.Pass && r.Verdict != report.Observed {
			t.Errorf("%s: %s: %s", r.Name, r.Verdict, r.Detail)
		}
	}
}

func TestEachDefectIsFoundByItsOwnRequirement(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for verdicts, not for races")
	every := max(1, len(mutants)/effort.Amount(t, "BROKEN_CLIENTS", 9, len(mutants)/4))
	for i, m := range mutants {
		if i%every != 0 {
			continue
		}
		t.Run(m.id+" "+m.defect, func(t *testing.T) {
			t.Parallel()
			requirement, _, _ := strings.Cut(m.id, ".")
			for _, r := range judged(t, switches{mutant: m.id}, requirement) {
				if r.Verdict == report.Fail || r.Verdict == report.Warn {
					return
				}
			}
			t.Errorf("no case of REQ-CLI-%s finds it", requirement)
		})
	}
}

func TestEachLatitudeIsRight(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for verdicts, not for races")
	for _, l := range latitudes[:min(len(latitudes), effort.Amount(t, "CLIENT_LATITUDES", 2, len(latitudes)))] {
		t.Run(l.does, func(t *testing.T) {
			t.Parallel()
			for _, r := range judged(t, switches{latitude: l.name}, "") {
				if r.Verdict == report.Fail || r.Verdict == report.Inconclusive || r.Verdict == report.HarnessError {
					t.Errorf("%s: %s: %s", r.Name, r.Verdict, r.Detail)
				}
			}
		})
	}
}

func TestEachLatitudeChangesWhatTheClientDoes(t *testing.T) {
	t.Parallel()
	plain := traffic(t, switches{})
	if again := traffic(t, switches{}); again != plain {
		t.Fatalf("two runs of the reference client differ:\n%s\n%s", plain, again)
	}
	for _, l := range latitudes {
		t.Run(l.does, func(t *testing.T) {
			t.Parallel()
			if traffic(t, switches{latitude: l.name}) == plain {
				t.Error("it changes nothing")
			}
		})
	}
}

// traffic is all that a reference client writes for some calls: connections with their bytes, the
// versions of HTTP over TLS, and answers.
func traffic(t *testing.T, s switches) string {
	t.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.Contains(r.URL.Path, "busy.test") {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, `{"messageId":"msg_1","workflowRunId":"wfr_1"}`)
	})
	var said tape
	server := httptest.NewUnstartedServer(handler)
	server.Listener = &taped{server.Listener, &said}
	server.Start()
	t.Cleanup(server.Close)
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said.write(r.Proto)
		handler(w, r)
	}))
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(secure.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	calls := fmt.Sprintf(`{"id":1,"op":"hello","ca_file":%q}
{"id":2,"op":"publish.json","client":{"url":"URL","token":"T"},"args":{"destination":{"url":"https://a.test/x"},"body":{"json":"é"},"options":{"delay":90,"flow_control":{"key":"k","parallelism":1,"rate":2}}}}
{"id":3,"op":"batch","client":{"url":"URL","token":"T"},"args":{"messages":[{"destination":{"url":"https://a.test/x"}}]}}
{"id":4,"op":"dlq.restart","client":{"url":"URL","token":"T"},"args":{"dlqId":"1"}}
{"id":5,"op":"publish","client":{"url":"URL","token":"T","retry":{"repeats":1}},"args":{"destination":{"url":"https://busy.test/"}}}
{"id":6,"op":"dlq.restart","client":{"url":%q,"token":"T"},"args":{"dlqId":"1"}}
`, ca, secure.URL)
	var answers strings.Builder
	newReference(s).run(strings.NewReader(strings.ReplaceAll(calls, "URL", server.URL)), &answers)
	return strings.ReplaceAll(said.String(), server.Listener.Addr().String(), "ADDRESS") + answers.String()
}

// tape keeps what several connections say.
type tape struct {
	mu   sync.Mutex
	text strings.Builder
}

func (t *tape) write(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.WriteString(text)
}

func (t *tape) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// taped is a listener whose connections are on a tape.
type taped struct {
	net.Listener
	tape *tape
}

func (l *taped) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	l.tape.write("connection\n")
	return &tapedConn{c, l.tape}, err
}

type tapedConn struct {
	net.Conn
	tape *tape
}

func (c *tapedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.tape.write(string(p[:n]))
	return n, err
}

// Operations whose path has an id that no case of REQ-CLI-025 tries hid a defect of a published client.
func TestEachIDInAPathIsTriedWithCharactersThatNeedAnEscape(t *testing.T) {
	t.Parallel()
	cases, err := client.Cases()
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for i := range cases {
		if cases[i].Requirement.ID == "REQ-CLI-025" {
			tried[cases[i].Calls[0].Op] = true
		}
	}
	for op, paths := range client.Paths() {
		for _, name := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(paths, -1) {
			if name[1] != "destination" && !tried[op] {
				t.Errorf("%s: no case tries %s", op, name[0])
			}
		}
	}
}

func TestEachOptionThatIsATextIsTriedWithALongOne(t *testing.T) {
	t.Parallel()
	cases, err := client.Cases()
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for i := range cases {
		for _, need := range cases[i].Needs {
			name, _, _ := strings.Cut(strings.TrimPrefix(need, "option:"), ":")
			name, _, _ = strings.Cut(name, "@")
			tried[name] = tried[name] || strings.HasPrefix(cases[i].ID, "option/long/")
		}
	}
	text := []string{"headers", "retry_delay", "callback", "failure_callback", "callback_options", "failure_callback_options", "label", "flow_control", "deduplication_id", "redact", "schedule_id", "queue", "run_id"}
	for _, name := range text {
		if !tried[name] {
			t.Errorf("%s: no case option/long/... tries it", name)
		}
	}
}
