package delivery

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/mockserver/journal"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/wire"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/mask"
)

// Config is what deliveries need of a server.
type Config struct {
	Own       func() []net.Listener                     // the listeners of this server, the first one that of the messaging API
	Advertise *url.URL                                  // how clients reach the first one; nil: by its address
	Outbound  string                                    // deliveries that no stub answers: allow ("" as well), loopback-only, stub-only
	Transport func(http.RoundTripper) http.RoundTripper // between the server and its destinations; nil: nothing

	MaxResponse int64               // bytes of an answer that are kept
	Room        *semaphore.Weighted // bytes of large answers that are being read
	MaxRoom     int64               // of Room: what one answer may take

	Wall  *clock.Real
	Log   *slog.Logger
	After func() // called after each attempt, with no lock held
}

// Deliverer makes attempts over HTTP.
type Deliverer struct {
	cfg         Config
	dialer      net.Dialer
	connections connections
	transports  []*http.Transport
	trip        http.RoundTripper // keeps connections
	fresh       http.RoundTripper // keeps none
}

// New makes the deliverer of a server. It opens no connection yet.
func New(cfg Config) *Deliverer {
	d := &Deliverer{cfg: cfg, dialer: net.Dialer{Timeout: 10 * time.Second}, connections: connections{open: map[ends]bool{}}}
	d.trip, d.fresh = d.through(d.newTransport(false)), d.through(d.newTransport(true))
	return d
}

// through is a transport with what the configuration puts around it.
func (d *Deliverer) through(t *http.Transport) http.RoundTripper {
	d.transports = append(d.transports, t)
	if d.cfg.Transport != nil {
		return d.cfg.Transport(t)
	}
	return t
}

// Close closes the connections that are kept. What is in flight ends with the
// accounts.
func (d *Deliverer) Close() {
	for _, t := range d.transports {
		t.CloseIdleConnections()
	}
}

// To is the deliverer of one account.
func (d *Deliverer) To(r *tenant.Registry, w *tenant.Tenant) func(context.Context, engine.Attempt) engine.Outcome {
	return func(ctx context.Context, a engine.Attempt) engine.Outcome { return d.deliver(ctx, r, w, a) }
}

// deliver makes one attempt: stub or network, then the journal. The engine calls it
// without its lock, and attempts of one account run side by side.
func (d *Deliverer) deliver(ctx context.Context, r *tenant.Registry, w *tenant.Tenant, a engine.Attempt) engine.Outcome {
	m := a.Message
	dialect := r.Dialect(w, m.Options.Dialect)
	body := a.Body
	if a.Steps != nil {
		body = wire.StepList(a.Steps)
	}
	if m.Options.Dialect == "" && (m.Role == engine.RoleCallback || m.Role == engine.RoleFailureCallback) {
		body = dialect.BrandJSON(body) // JSON that the engine wrote
	}
	header, err := deliveryHeader(dialect, a, body, r.SignedAt(a.At))
	if err != nil {
		return engine.Outcome{Err: err.Error()}
	}
	limit := m.Options.Timeout
	if limit == 0 {
		limit = engine.DefaultTimeout
	}
	stubbed, nearMiss := false, ""
	out := w.Faults.Attempt(ctx, m.URL, header, func() (out engine.Outcome) {
		asked := &stub.Request{Message: m.ID, Method: m.Method, URL: m.URL, Header: header, Body: body}
		if out, stubbed = w.Stubs.Answer(asked, limit); stubbed {
			return out
		}
		nearMiss = w.Stubs.Nearest(asked)
		if request.IsProvider(m.URL) {
			return engine.Outcome{Err: "destination " + m.URL + ": " + request.NoProvider(m.URL)}
		}
		target := w.Rewrites.Apply(m.URL)
		if why := d.mayLeave(target); why != "" {
			return engine.Outcome{Err: "delivery to " + target + " was not made: " + why}
		}
		defer w.Outside.Leave()()
		start := d.cfg.Wall.Now()
		out = d.call(ctx, &m, target, header, body, limit)
		if !r.Repeats(w) {
			out.Took = d.cfg.Wall.Now().Sub(start)
		}
		return out
	})
	out.BytesUp = len(body) + journal.HeaderSize(header)
	out.BytesIn = len(out.Body) + journal.HeaderSize(http.Header(out.Header))
	w.Deliveries.Add(journal.Delivery{
		At: a.At.UnixMilli(), RealAt: r.RealTime(w), MessageID: m.ID, Role: string(m.Role), Attempt: a.Number, URL: mask.URL(m.URL), Method: m.Method,
		Request:  journal.Message{Header: header, Body: body},
		Response: journal.Message{Status: out.Status, Header: http.Header(out.Header), Body: out.Body},
		Error:    mask.Text(out.Err), Note: out.Note, Stubbed: stubbed, NearMiss: mask.Text(nearMiss), DurationMs: float64(out.Took.Microseconds()) / 1000,
	})
	d.cfg.After()
	out.Header = engine.Header(dialect.NeutralHeader(http.Header(out.Header)))
	return out
}

// deliveryHeader is what the destination gets: what was forwarded, what delivery adds
// (wire.md, "Deliveries"), the signature; in the dialect's names.
func deliveryHeader(dialect *spec.Dialect, a engine.Attempt, body []byte, signed time.Time) (http.Header, error) {
	m := a.Message
	h := make(http.Header, len(m.Forward)+10)
	maps.Copy(h, m.Forward)
	delete(h, wire.HopsHeader) // a publisher's own says nothing
	retried := []string{strconv.Itoa(a.Number)}
	h["Svc-Message-Id"] = []string{m.ID}
	h["Svc-Retried"] = retried
	if m.RunID != "" && m.Role != engine.RoleCall {
		ofRun(h, a)
	}
	added := map[string]string{
		"Svc-Topic-Name":  m.Group,
		"Svc-Schedule-Id": m.ScheduleID,
		"Svc-Caller-Ip":   m.CallerIP,
	}
	for name, v := range added {
		if v != "" {
			h[name] = []string{v}
		}
	}
	if h.Get("User-Agent") == "" {
		h["User-Agent"] = []string{dialect.UserAgent}
	}
	token, err := signDelivery(dialect, a, body, signed)
	if err != nil {
		return nil, fmt.Errorf("signature: %w", err)
	}
	h["Svc-Signature"] = []string{token}
	return dialect.BrandHeader(h), nil
}

// ofRun adds the effective configuration to a call of a workflow endpoint
// (wire.md, "Calls to a workflow endpoint").
func ofRun(h http.Header, a engine.Attempt) {
	h["Svc-Retries"], h["Svc-Max-Retries"] = []string{strconv.Itoa(a.Number)}, []string{strconv.Itoa(a.Message.MaxRetries)}
	if f := a.Message.Options.RetryDelay; f != nil {
		h["Svc-Retry-Delay"] = []string{f.String()}
	}
	if f := a.Message.Options.Flow; f != nil {
		h["Svc-Flow-Control-Key"], h["Svc-Flow-Control-Value"] = []string{f.Key}, []string{request.FlowText(f)}
	}
}

// call makes the request. Timeouts are wall time: the destination is real.
func (d *Deliverer) call(ctx context.Context, m *engine.Message, target string, header http.Header, body []byte, timeout time.Duration) engine.Outcome {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, m.Method, target, bytes.NewReader(body))
	if err != nil {
		return engine.Outcome{Err: "request cannot be made: " + err.Error()}
	}
	request.Header = header
	if len(body) == 0 {
		request.Body, request.ContentLength = http.NoBody, 0
	}
	if host := header.Get("Host"); host != "" {
		request.Host = host
	}
	if user := request.URL.User; user != nil && header.Get("Authorization") == "" {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	response, err := d.exchange(request, m.Options.Hops+1)
	if err != nil {
		return engine.Outcome{Err: cmp.Or(spec.WrongScheme(target, err.Error()), whyNot(ctx, err, timeout)+maybeTLS(target, err))}
	}
	defer response.Body.Close()
	answer, taken, err := d.read(limited, response)
	defer d.cfg.Room.Release(taken)
	if err != nil {
		return engine.Outcome{Err: "answer broke off: " + whyNot(ctx, err, timeout)}
	}
	answer, note := cutResponse(response, answer, d.cfg.MaxResponse)
	if note != "" {
		d.cfg.Log.Warn("answer cut", "message", m.ID, "url", mask.URL(m.URL), "note", note)
	}
	return engine.Outcome{Status: response.StatusCode, Header: engine.Header(response.Header), Body: answer, Note: note}
}

// read takes an answer. A large one waits until there is room for it, so that
// those of all attempts at once are bounded; the second value is the room that it
// has taken.
func (d *Deliverer) read(ctx context.Context, response *http.Response) (answer []byte, taken int64, err error) {
	limit := d.cfg.MaxResponse
	body := io.LimitReader(response.Body, limit)
	length := min(response.ContentLength, limit)
	if length < 0 {
		start, err := request.ReadAll(io.LimitReader(body, request.SmallBody), -1)
		if err != nil || len(start) < request.SmallBody {
			return start, 0, err
		}
		body, length = io.MultiReader(bytes.NewReader(start), body), -1
	}
	if length == -1 || length > request.SmallBody {
		taken = min(d.cfg.MaxRoom, cmp.Or(max(length, 0), limit))
		if err := d.cfg.Room.Acquire(ctx, taken); err != nil {
			return nil, 0, err
		}
	}
	answer, err = request.ReadAll(body, length)
	return answer, taken, err
}

// maybeTLS is a hint for a connection that was closed without an answer: most
// servers that speak TLS do that when they receive plain HTTP.
func maybeTLS(target string, err error) string {
	if strings.HasPrefix(target, "http:") && spec.Closed(err) {
		return "; if the port speaks TLS, use https:// in place of http://"
	}
	return ""
}

// whyNot says in one line at which station a call failed.
func whyNot(ctx context.Context, err error, timeout time.Duration) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case ctx.Err() != nil:
		return "attempt was cut off: the message was cancelled or the server stops"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within the timeout of %s", timeout)
	case errors.As(err, &dns):
		return "host name cannot be resolved: " + dns.Error()
	case errors.As(err, &op) && op.Op == "dial":
		return "connection failed: " + op.Error()
	case strings.Contains(err.Error(), "tls:") || strings.Contains(err.Error(), "x509:") || strings.Contains(err.Error(), "HTTP response to HTTPS"):
		return "TLS handshake failed: " + err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection was closed without an answer"
	}
	return response.OneLine(err.Error())
}
