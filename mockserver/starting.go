package mockserver

import (
	"fmt"
	"maps"
	"net/http"

	"github.com/understudy-mock/understudy/mockserver/journal"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
	paths "github.com/understudy-mock/understudy/spec/route"
)

// starting answers requests while the server reads the data of its accounts: it is alive, but
// not ready.
func (s *Server) starting(w http.ResponseWriter, r *http.Request) {
	doing := "it opens the data of its accounts"
	if said := s.trouble.Load(); said != nil && *said != "" {
		doing = *said
	}
	reason := "the server is starting: " + doing + "; repeat the request later"
	out := response.Failure(response.NotReady(reason)).Response(r, false)
	if body := s.probed(r); body != nil {
		out = response.Response{Status: http.StatusOK, Body: body}
	}
	body, _ := out.Encode() // of plain values: cannot fail
	maps.Copy(w.Header(), out.Header)
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(out.Status)
	_, _ = w.Write(body) //nolint:gosec // JSON, by its type; the client may have disconnected
}

// probed is the answer to the probes for a server that is alive; nil for other requests.
func (s *Server) probed(r *http.Request) any {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return nil
	case r.URL.Path == paths.ControlLivez.Path():
		return map[string]string{"status": "ok"}
	case r.URL.Path == paths.ControlHealth.Path():
		return map[string]any{
			"status": "ok", "version": Version, "dialect": s.dialectName(), "clock": map[string]any{"mode": s.cfg.Clock, "now": s.wall.Now().UnixMilli()},
			"journal": map[string]int{"limit": journal.Limit}, "memory": s.memoryUse(),
		}
	}
	return nil
}

// dialectName is the name of the dialect that the server speaks.
func (s *Server) dialectName() string {
	if s.cfg.Dialect == nil {
		return spec.Auto
	}
	return s.cfg.Dialect.Name
}

// reading reports how much of the data of an account has been read.
func (s *Server) reading(account string, records int) {
	s.NotReady(fmt.Sprintf("it has read %d records of account %q", records, account))
	s.cfg.Log.Info("reading the data of an account", "account", account, "records", records)
}
