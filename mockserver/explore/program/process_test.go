package program_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/explore/program"
)

// TestMain is also an application, which ends at POST /die, and has no state.
func TestMain(m *testing.M) {
	switch os.Getenv("EXPLORED") {
	case "":
		os.Exit(m.Run())
	case "silent":
		<-time.After(time.Hour) // killed before
	}
	resets := 0
	http.HandleFunc("/reset", func(http.ResponseWriter, *http.Request) { resets++ })
	http.HandleFunc("/resets", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, resets) })
	http.HandleFunc("/die", func(http.ResponseWriter, *http.Request) {
		fmt.Println("Error: the disk is full")
		fmt.Println("    at main.go")
		os.Exit(3)
	})
	fmt.Println(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}

// process returns an application of this test; kind is what it is.
func process(t *testing.T, kind string) *program.Process {
	t.Helper()
	file := &program.File{State: "POST /die"}
	file.App.URL, file.App.Reset, file.App.Start = "http://127.0.0.1:{port}", "POST /reset", "100ms"
	if kind != "silent" {
		file.App.Start = "30s"
	}
	p := &program.Process{
		File: file, Command: os.Args[:1], Env: []string{"EXPLORED=" + kind},
		End: func(p *os.Process, _ bool) error { return p.Kill() },
	}
	t.Cleanup(p.Stop)
	return p
}

func TestAnApplicationThatEndsSaysWhy(t *testing.T) {
	t.Parallel()
	p := process(t, "app")
	expect.NoError(t, p.Reset(t.Context()))
	_, err := p.State(t.Context())
	if want := "the application ended by itself: it printed: Error: the disk is full"; err == nil || err.Error() != want {
		t.Errorf("state of an application that has ended: got %v, want %q", err, want)
	}
}

func TestEachCaseIsResetTheFirstIncluded(t *testing.T) {
	t.Parallel()
	p := process(t, "app")
	p.File.State = "GET /resets"
	for n := 1; n <= 2; n++ {
		expect.NoError(t, p.Reset(t.Context()))
		if got, err := p.State(t.Context()); err != nil || string(got) != fmt.Sprint(n) {
			t.Errorf("resets before case %d: got %s, %v, want %d", n, got, err, n)
		}
	}
}

func TestAnApplicationThatHasEndedStartsAgain(t *testing.T) {
	t.Parallel()
	p := process(t, "app")
	for range 2 {
		expect.NoError(t, p.Reset(t.Context()))
		_, _ = p.State(t.Context()) // ends it
	}
}

func TestAnApplicationThatNeverIsReadySaysSo(t *testing.T) {
	t.Parallel()
	p := process(t, "silent")
	err := p.Reset(t.Context())
	if err == nil || !strings.Contains(err.Error(), "was not ready after 100ms (app.start)") {
		t.Errorf("an application that does not listen: got %v", err)
	}
}
