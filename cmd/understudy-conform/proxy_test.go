package main

import (
	"bytes"
	"net/http/httptest"
	"testing"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/mockserver"
)

// The suite passes through the proxy as it does without, and the proxy has no findings.
func TestProxyIsTransparent(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for verdicts, not for races")
	u := mockserver.RunT(t, mockserver.Config{Dialect: neutral()})
	own := unhurriedTarget(environment(u), true)
	upstream := httptest.NewServer(u)
	t.Cleanup(upstream.Close)
	p, address := watching(t, upstream.URL, own.Bindings)
	urls := &own.Target.URLs
	urls.Base, urls.Region, urls.Dev, urls.Vector = address, address, address, address
	got, err := conformance.Run(t.Context(), conformance.Config{Target: own, Tags: "not @time-long", Profiles: []string{"MSG", "GROUP", "WF-READ", "FLOW", "USAGE", "INDEX"}})
	if err != nil {
		t.Fatal(err)
	}
	if code := got.ExitCode(); code != 0 {
		var b bytes.Buffer
		_ = report.Write("terminal", &b, got)
		t.Errorf("exit %d\n%s", code, b.String())
	}
	for _, f := range p.Findings() {
		t.Error(f.String())
	}
}
