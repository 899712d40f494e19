package mockserver

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/spec/mask"
)

// tellFailure logs a failed attempt and what follows from it. An attempt that
// will be retried has the level info, a final failure has the level warn.
func (s *Server) tellFailure(w *tenant.Tenant, f engine.FailedAttempt) {
	level, text := slog.LevelWarn, "delivery failed, no retries left: message is in the DLQ"
	switch {
	case f.Run != nil:
		text = "workflow run failed: it is in the DLQ"
	case !f.NextAt.IsZero():
		level, text = slog.LevelInfo, "delivery failed, it is retried"
	case f.DLQID == "":
		text = "call of a workflow run failed, no retries left"
	}
	log := s.cfg.Log
	if !log.Enabled(context.Background(), level) { // skips the work for the text under a load of failures
		return
	}
	m, view := f.Message, "messages/"+f.Message.ID
	attrs := []slog.Attr{slog.String("reason", outcomeText(f.Outcome)), slog.String("url", mask.URL(m.URL)), slog.String("message", m.ID)}
	if m.Role == engine.RoleCallback || m.Role == engine.RoleFailureCallback {
		attrs = append(attrs, slog.String("role", string(m.Role)))
	}
	if m.RunID != "" {
		view = "runs/" + m.RunID
		attrs = append(attrs, slog.String("run", m.RunID))
	}
	if !f.NextAt.IsZero() {
		attrs = append(attrs, slog.String("retry", strconv.Itoa(int(m.Retried))+" of "+strconv.Itoa(int(m.MaxRetries))),
			slog.Time("at", f.NextAt.UTC()), slog.Duration("in", f.Wait))
	}
	if f.DLQID != "" {
		attrs = append(attrs, slog.String("dlq", f.DLQID))
	}
	log.LogAttrs(context.Background(), level, text, append(attrs, slog.String("page", s.pageURL(w, view)))...)
}

// outcomeText is the outcome of a failed attempt in one line: why no response
// came, or its status and the beginning of its body.
func outcomeText(o *engine.Outcome) string {
	if o.Err != "" {
		return o.Err
	}
	text := strings.TrimSpace(strconv.Itoa(o.Status) + " " + http.StatusText(o.Status))
	line, _, _ := strings.Cut(strings.TrimSpace(string(o.Body[:min(len(o.Body), 1<<10)])), "\n")
	if line = strings.ToValidUTF8(line, "?"); line != "" {
		text += ": " + response.Shorten(line)
	}
	return text
}

// pageURL is the URL of a view of the web page.
func (s *Server) pageURL(w *tenant.Tenant, view string) string {
	at := s.URL() + "/_understudy/ui/" + view
	if w.ID != s.cfg.Accounts[0].ID {
		at += "?account=" + url.QueryEscape(w.ID)
	}
	return at
}

// tellRequest logs a request that was refused, or whose answer has a warning, except for the
// page's own calls.
func (s *Server) tellRequest(c *call.Call, x *Exchange, err error) {
	text, reason, status := "request accepted with a warning", c.Warning(), 0
	if err != nil {
		e := response.Branded(c.Dialect, response.Failure(err))
		text, reason, status = "request refused", e.Error(), e.Status
		if !e.Refusal() {
			return // failures of the server itself are logged elsewhere
		}
	}
	log := s.cfg.Log
	if reason == "" || !log.Enabled(context.Background(), slog.LevelWarn) || c.Request.Context().Value(forPage{}) != nil {
		return
	}
	attrs := []slog.Attr{slog.String("reason", reason), slog.String("method", x.Method), slog.String("path", response.Shorten(x.Path))}
	if status > 0 {
		attrs = append(attrs, slog.Int("status", status))
	}
	if c.Op == nil || c.Op.Area != "control_url" { // the page does not list calls of the control API
		w := c.Tenant
		if w == nil {
			w = s.tenants.First()
		}
		attrs = append(attrs, slog.String("page", s.pageURL(w, "requests")))
	}
	log.LogAttrs(context.Background(), slog.LevelWarn, text, attrs...)
}
