package effort

import (
	"fmt"
	"testing"
	"time"
)

// recorder is a test that records what is done with it.
type recorder struct {
	said string
}

func (r *recorder) Helper()                         {}
func (r *recorder) Skip(args ...any)                { r.said = "skip: " + fmt.Sprint(args...) }
func (r *recorder) Logf(format string, args ...any) { r.said = "log: " + fmt.Sprintf(format, args...) }
func (r *recorder) Fatalf(format string, args ...any) {
	r.said = "fatal: " + fmt.Sprintf(format, args...)
}

func TestAmount(t *testing.T) {
	r := &recorder{}
	want, said := 20, ""
	if testing.Short() {
		want, said = 2, "log: make verify: AMOUNT=20, not 2"
	}
	if got := Amount(r, "AMOUNT", 2, 20); got != want {
		t.Errorf("amount: got %d, want %d", got, want)
	}
	if r.said != said {
		t.Errorf("line: got %q, want %q", r.said, said)
	}
	t.Setenv("AMOUNT", "7")
	if got := Amount(r, "AMOUNT", 2, 20); got != 7 {
		t.Errorf("amount of the environment: got %d, want 7", got)
	}
	t.Setenv("AMOUNT", "many")
	Amount(r, "AMOUNT", 2, 20)
	if want := "fatal: AMOUNT=many: must be a positive integer"; r.said != want {
		t.Errorf("wrong amount: got %q, want %q", r.said, want)
	}
}

func TestLong(t *testing.T) {
	r := &recorder{}
	Long(r, "starts a cluster")
	want := ""
	if testing.Short() {
		want = "skip: make verify: starts a cluster"
	}
	if r.said != want {
		t.Errorf("line: got %q, want %q", r.said, want)
	}
}

func TestWait(t *testing.T) {
	if got := Wait(time.Second); got < time.Second || got > 30*time.Second {
		t.Errorf("wait: got %v, want 1 s to 30 s", got)
	}
}
