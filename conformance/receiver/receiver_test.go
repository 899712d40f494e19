package receiver

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// listen starts a receiver for targets with the neutral dialect.
func listen(t *testing.T, cfg target.Receiver) *Receiver {
	t.Helper()
	r, err := New(t.Context(), cfg, target.Bindings{}.Dialect())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// deliver posts a body as a target would, and returns status and body of the response.
func deliver(t *testing.T, url, body string, with http.Header) (status int, text string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(q.Header, with)
	response, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(got)
}

func TestScript(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fact   string
		always Reply
		script []Reply
		want   []int
	}{
		{"without a script it answers 200", Reply{}, nil, []int{200, 200}},
		{"a script is followed by 200", Reply{}, []Reply{{Status: 503}, {Status: 404}}, []int{503, 404, 200}},
		{"a script is followed by the permanent reply", Reply{Status: 500}, []Reply{{Status: 202}}, []int{202, 500, 500}},
		{"a reply without a status is a success", Reply{}, []Reply{{Body: "made"}}, []int{200}},
	} {
		t.Run(c.fact, func(t *testing.T) {
			t.Parallel()
			e := listen(t, target.Receiver{}).Endpoint("run", "scenario", "destination")
			e.Answer(c.always, c.script...)
			var got []int
			for range c.want {
				status, _ := deliver(t, e.URL, "message", nil)
				got = append(got, status)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("statuses, want (-) and got (+):\n%s", diff)
			}
		})
	}
}

func TestDelivery(t *testing.T) {
	t.Parallel()
	r := listen(t, target.Receiver{})
	brand := spec.BuiltInDialects()[0]
	r.Speak(brand)
	e := r.Endpoint("run", "scenario", "destination", Reply{Status: 201, Body: "made"})
	var woken atomic.Int64
	e.Wake = func() { woken.Add(1) }
	status, body := deliver(t, e.URL+"/below/it?a=1", "message", http.Header{brand.HeaderPrefix + "Message-Id": {"msg_1"}})
	all := e.Deliveries()
	if len(all) != 1 {
		t.Fatalf("%d deliveries, want 1", len(all))
	}
	got := all[0]
	for _, c := range []struct{ fact, got, want string }{
		{"the body is kept", string(got.Body), "message"},
		{"the method is kept", got.Method, http.MethodPost},
		{"the path is the rest after the URL, with the query", got.Path, "/below/it?a=1"},
		{"names of the brand become neutral", got.Header.Get(header.Prefix + "Message-Id"), "msg_1"},
		{"the original header is kept", got.Wire.Get(brand.HeaderPrefix + "Message-Id"), "msg_1"},
		{"the status of the script is answered", http.StatusText(status), "Created"},
		{"the body of the script is answered", body, "made"},
	} {
		t.Run(c.fact, func(t *testing.T) {
			t.Parallel()
			if c.got != c.want {
				t.Errorf("got %q, want %q", c.got, c.want)
			}
		})
	}
	t.Run("each waiter is woken once", func(t *testing.T) {
		t.Parallel()
		if got := woken.Load(); got != 1 {
			t.Errorf("woken %d times, want 1", got)
		}
	})
	t.Run("the status of the response is kept", func(t *testing.T) {
		t.Parallel()
		if got := got.Status.Load(); got != http.StatusCreated {
			t.Errorf("status %d, want %d", got, http.StatusCreated)
		}
	})
	t.Run("Look marks a delivery as checked", func(t *testing.T) {
		t.Parallel()
		if got.Looked.Load() {
			t.Fatal("checked before Look, want unchecked")
		}
		if e.Look(); !got.Looked.Load() {
			t.Error("unchecked after Look, want checked")
		}
	})
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	t.Run("after its end it answers 200 instead of the script", func(t *testing.T) {
		t.Parallel()
		e := listen(t, target.Receiver{}).Endpoint("run", "scenario", "destination", Reply{Status: 503})
		e.Respond = func(*Received) Reply { return Reply{Status: 500} }
		e.End()
		if status, _ := deliver(t, e.URL, "late", nil); status != http.StatusOK {
			t.Errorf("status %d, want 200", status)
		}
	})
	t.Run("a function answers instead of the script", func(t *testing.T) {
		t.Parallel()
		e := listen(t, target.Receiver{}).Endpoint("run", "scenario", "destination", Reply{Status: 503})
		e.Respond = func(got *Received) Reply { return Reply{Body: strings.ToUpper(string(got.Body))} }
		if _, body := deliver(t, e.URL, "message", nil); body != "MESSAGE" {
			t.Errorf("body %q, want %q", body, "MESSAGE")
		}
	})
	t.Run("an endpoint whose URL begins with that of another one gets its own deliveries", func(t *testing.T) {
		t.Parallel()
		r := listen(t, target.Receiver{})
		first := r.Endpoint("run", "scenario", "first")
		second := r.Longer(first, "second")
		deliver(t, second.URL, "message", nil)
		if n := len(first.Deliveries()); n != 0 {
			t.Errorf("the first got %d deliveries, want 0", n)
		}
		if n := len(second.Deliveries()); n != 1 {
			t.Errorf("the second got %d deliveries, want 1", n)
		}
	})
	t.Run("a reset breaks the connection without a response", func(t *testing.T) {
		t.Parallel()
		e := listen(t, target.Receiver{}).Endpoint("run", "scenario", "destination", Reply{Reset: true})
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := http.DefaultTransport.RoundTrip(q); err == nil {
			_ = response.Body.Close()
			t.Fatalf("status %d, want a broken connection", response.StatusCode)
		}
		if got := e.Deliveries()[0].Status.Load(); got != 0 {
			t.Errorf("status %d is kept, want none", got)
		}
	})
	t.Run("deliveries beyond the bound are counted, not kept", func(t *testing.T) {
		t.Parallel()
		e := &Endpoint{}
		for range maxPerEndpoint + 3 {
			e.take(&Received{})
		}
		if n := len(e.Deliveries()); n != maxPerEndpoint {
			t.Errorf("%d deliveries are kept, want %d", n, maxPerEndpoint)
		}
		if e.lost != 3 {
			t.Errorf("%d deliveries are counted beyond the bound, want 3", e.lost)
		}
	})
}

func TestPathsOfNobody(t *testing.T) {
	t.Parallel()
	r := listen(t, target.Receiver{})
	for _, c := range []struct {
		fact, path string
		want       int
	}{
		{"the root answers the preflight", "/", 200},
		{"an endpoint that was never made is not found", "/r/run/scenario/nobody", 404},
		{"a path outside of the endpoints is not found", "/elsewhere", 404},
	} {
		t.Run(c.fact, func(t *testing.T) {
			t.Parallel()
			if got, _ := deliver(t, r.Public+c.path, "", nil); got != c.want {
				t.Errorf("status %d, want %d", got, c.want)
			}
		})
	}
}

func TestRelay(t *testing.T) {
	t.Parallel()
	relay := &Relay{Token: "secret"}
	public := httptest.NewServer(relay)
	t.Cleanup(public.Close)
	cfg := target.Receiver{Mode: "relay"}
	cfg.Relay.URL = public.URL
	t.Run("a call through the relay is answered by the script", func(t *testing.T) {
		t.Parallel()
		cfg := cfg
		cfg.Relay.Token = "secret"
		e := listen(t, cfg).Endpoint("run", "scenario", "destination", Reply{Status: 418, Body: "short"})
		status, body := deliver(t, e.URL, "message", nil)
		if status != http.StatusTeapot {
			t.Errorf("status %d, want %d", status, http.StatusTeapot)
		}
		if body != "short" {
			t.Errorf("body %q, want %q", body, "short")
		}
	})
	t.Run("a wrong token is refused at once", func(t *testing.T) {
		t.Parallel()
		cfg := cfg
		cfg.Relay.Token = "wrong"
		_, err := New(t.Context(), cfg, target.Bindings{}.Dialect())
		if err == nil {
			t.Fatal("no error, want a refusal")
		}
		if got, want := err.Error(), "is its token right?"; !strings.Contains(got, want) {
			t.Errorf("error %q, want it to contain %q", got, want)
		}
	})
}
