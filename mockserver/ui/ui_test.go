package ui_test

import (
	"io"
	"net/http"
	"testing"
)

// text makes a request and returns the body of the answer.
func text(t testing.TB, r *http.Request) string {
	t.Helper()
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // read to its end
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
