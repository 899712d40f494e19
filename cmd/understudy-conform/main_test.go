package main

import (
	"context"
	"flag"
	"log/slog"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/ratelimit"
	"github.com/understudy-mock/understudy/spec"
)

// Helpers that the tests of both programs use.
var (
	build = programs.Build
	serve = programs.Serve
)

func TestMain(m *testing.M) {
	// Suites wait for most of their time: more of them at once than there are processors.
	if err := flag.Set("test.parallel", "10"); err != nil {
		panic(err)
	}
	os.Exit(programs.Main{M: m}.Run())
}

// TestConformScripts runs testdata/*.txtar with the programs as they are installed.
func TestConformScripts(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for output, not for races")
	folder := filepath.Dir(build(t))
	params := programs.Script("testdata")
	begin := params.Setup
	params.Setup = func(e *testscript.Env) error {
		e.Setenv("PATH", folder+string(filepath.ListSeparator)+e.Getenv("PATH"))
		return begin(e)
	}
	testscript.Run(t, params)
}

// neutral is the dialect of the target file of the stand-in.
func neutral() *spec.Dialect { return spec.BuiltInDialects()[0] }

// environment returns the variables that a server in this process prints for its clients.
func environment(s interface{ Env() []mockserver.EnvVar }) map[string]string {
	vars := map[string]string{}
	for _, v := range s.Env() {
		vars[v.Name] = v.Value
	}
	return vars
}

// unhurriedTarget is ownTarget with more time on a slow or busy machine.
func unhurriedTarget(vars map[string]string, manual bool) target.Target {
	own := ownTarget(vars, manual)
	own.Timing.Scale = effort.Wait(time.Second).Seconds()
	return own
}

// pluginInProcess runs the rate-limit plugin in front of an application, for
// suites that judge a server of this process.
func pluginInProcess(_ context.Context, config []byte, upstream string) (string, func(), error) {
	cfg, err := ratelimit.Parse(config)
	if err != nil {
		return "", nil, err
	}
	address, err := url.Parse(upstream)
	if err != nil {
		return "", nil, err
	}
	cfg.Log, cfg.Timeout = quietLog(), 20*time.Second // as in hostPlugin
	limit, err := ratelimit.New(cfg)
	if err != nil {
		return "", nil, err
	}
	server := httptest.NewServer(limit(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address) }}))
	return server.URL, server.Close, nil
}

// quietLog discards the log of a judged server.
func quietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
