package mockserver_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/mockserver"
)

// A test of an application that publishes: it gets the URL and the token of a
// stand-in of its own, and the hours of a retry pass in milliseconds.
func ExampleRunT() {
	test := func(t testing.TB) {
		u := mockserver.RunT(t)
		u.Stub("https://app.test/*", 503, 503, 200)
		u.Publish("https://app.test/hook", []byte(`{"order": 7}`), "Content-Type: application/json")
		u.Advance(time.Hour)
		for _, d := range u.Deliveries() {
			fmt.Println(d.URL, d.Response.Status)
		}
	}
	run(test)
	// Output:
	// https://app.test/hook 503
	// https://app.test/hook 503
	// https://app.test/hook 200
}

// A publish over HTTP, as any client of the service does it.
func ExampleRun() {
	u, err := mockserver.Run(mockserver.Config{Seed: 1, Clock: "manual", Stubs: []mockserver.Stub{{URL: "https://app.test/*"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer u.Close()
	r, err := http.NewRequest("POST", u.URL()+"/v2/publish/https://app.test/hook", strings.NewReader("hello"))
	if err != nil {
		fmt.Println(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+u.Token())
	r.Header.Set("Svc-Retries", "many")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode, string(text))
	// Output:
	// 400 {"error":"header Svc-Retries: invalid value \"many\": must be an integer from 0 to 1000000000"}
}

// run takes the place of go test.
func run(test func(testing.TB)) {
	t := &exampleT{}
	defer t.end()
	test(t)
}

type exampleT struct {
	testing.TB
	cleanups []func()
}

func (t *exampleT) Helper()                   {}
func (t *exampleT) Cleanup(f func())          { t.cleanups = append(t.cleanups, f) }
func (t *exampleT) Errorf(f string, a ...any) { fmt.Printf(f+"\n", a...) }
func (t *exampleT) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

func (t *exampleT) end() {
	for _, f := range t.cleanups {
		f()
	}
}
