package delivery

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/trace"
	"github.com/understudy-mock/understudy/mockserver/traffic"
	"github.com/understudy-mock/understudy/mockserver/wire"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/mask"
)

// Config configures deliveries.
type Config struct {
	Own       func() []net.Listener                     // the listeners of this server, first that of the messaging API
	Advertise *url.URL                                  // URL at which clients reach the first one; nil: its address
	Scheme    string                                    // what the listeners speak: http or https
	Outbound  string                                    // deliveries that no stub answers: allow ("" as well), loopback-only, stub-only
	Transport func(http.RoundTripper) http.RoundTripper // wraps the transport of deliveries; nil: no wrapper

	// Sign marks a request to another server of the fleet as a delivery, in a copy of its
	// headers; nil: no fleet.
	Sign func(r *http.Request, hops string)

	// Conduct makes an attempt of an account by calling deliver, which may be called later,
	// again or not at all; the note is kept with the attempt. nil: deliver is called.
	Conduct func(ctx context.Context, a engine.Attempt, deliver func(note string) engine.Outcome) engine.Outcome

	TraceContext bool // deliveries carry traceparent and tracestate

	MaxResponse int64               // bytes of an answer that are kept
	Room        *semaphore.Weighted // bounds the bytes of large answers that are read at the same time
	MaxRoom     int64               // largest part of Room that one answer takes, in bytes

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

// New returns the deliverer of a server. It opens no connections.
func New(cfg Config) *Deliverer {
	d := &Deliverer{cfg: cfg, connections: connections{open: map[ends]bool{}}}
	d.dialer = net.Dialer{Timeout: 10 * time.Second, ControlContext: d.mayConnect}
	d.trip, d.fresh = d.through(d.newTransport(false)), d.through(d.newTransport(true))
	return d
}

// through applies Config.Transport to a transport.
func (d *Deliverer) through(t *http.Transport) http.RoundTripper {
	d.transports = append(d.transports, t)
	if d.cfg.Transport != nil {
		return d.cfg.Transport(t)
	}
	return t
}

// Close closes idle connections. Attempts in flight end when their accounts close.
func (d *Deliverer) Close() {
	for _, t := range d.transports {
		t.CloseIdleConnections()
	}
}

// To returns the function that makes the attempts of one account.
func (d *Deliverer) To(r *tenant.Registry, w *tenant.Tenant) func(context.Context, engine.Attempt) engine.Outcome {
	return func(ctx context.Context, a engine.Attempt) engine.Outcome { return d.deliver(ctx, r, w, a) }
}

// deliver makes one attempt. The engine calls it without its lock, concurrently.
func (d *Deliverer) deliver(ctx context.Context, r *tenant.Registry, w *tenant.Tenant, a engine.Attempt) engine.Outcome {
	one := attempt{Attempt: a, r: r, w: w, d: d, dialect: r.Dialect(w, a.Message.Options.Dialect), limit: cmp.Or(a.Message.Options.Timeout, engine.DefaultTimeout)}
	if d.cfg.Conduct != nil {
		return d.cfg.Conduct(ctx, a, func(note string) engine.Outcome {
			again := one
			return again.make(ctx, note)
		})
	}
	return one.make(ctx, "")
}

// attempt is an attempt of an account.
type attempt struct {
	engine.Attempt
	d       *Deliverer
	r       *tenant.Registry
	w       *tenant.Tenant
	dialect *spec.Dialect
	limit   time.Duration

	body     []byte
	headers  http.Header
	stubbed  bool
	nearMiss string
}

// make makes the attempt, with the fault that is due for it, and records it in the journal.
func (a *attempt) make(ctx context.Context, note string) engine.Outcome {
	m := &a.Message
	if a.body = a.Body; a.Steps != nil {
		a.body = wire.StepList(a.Steps)
	}
	if m.Options.Dialect == "" && (m.Role == engine.RoleCallback || m.Role == engine.RoleFailureCallback) {
		a.body = a.dialect.BrandJSON(a.body) // JSON that the engine wrote
	}
	signed := a.d.cfg.Wall.Now()
	if a.r.Repeats(a.w) {
		signed = a.At
	}
	if err := a.sign(signed); err != nil {
		return engine.Outcome{Err: err.Error()}
	}
	serial := ""
	if a.r.Repeats(a.w) {
		serial = fmt.Sprintf("%s@%d", m.ID, a.Number)
	}
	first, out := a.w.Faults.Attempt(ctx, serial, m.URL, a.headers, func() engine.Outcome { return a.answer(ctx) })
	if out.Behind {
		return out
	}
	if first != nil {
		first.Note = "the request was sent twice (fault); this is its first answer"
		out.Note = cmp.Or(out.Note, "request was sent twice (fault); this is its second answer")
		a.record(first)
	}
	out.Note = cmp.Or(note, out.Note)
	a.record(&out)
	a.d.cfg.After()
	out.Header = engine.Header(a.dialect.NeutralHeader(http.Header(out.Header)))
	return out
}

// sign sets the headers of the request, signed at a time.
func (a *attempt) sign(at time.Time) (err error) {
	a.headers, err = deliveryHeader(a.dialect, a.r.Dialects(), a.Attempt, a.body, at)
	if err == nil && a.d.cfg.TraceContext {
		trace.AddTo(a.headers, a.w.ID, &a.Message, a.Number)
	}
	return err
}

// answer makes the request once, to a stub or over the network.
func (a *attempt) answer(ctx context.Context) (out engine.Outcome) {
	m := &a.Message
	asked := &stub.Request{Message: m.ID, Method: m.Method, URL: m.URL, Header: a.headers, Body: a.body}
	if out, a.stubbed = a.w.Stubs.Answer(asked, a.limit); a.stubbed {
		return out
	}
	out = a.send(ctx)
	a.nearMiss = a.w.Stubs.Nearest(asked, out.Status == 0)
	return out
}

// send makes the request once over the network.
func (a *attempt) send(ctx context.Context) (out engine.Outcome) {
	m := &a.Message
	if request.IsProvider(m.URL) {
		return engine.Outcome{Err: "destination " + m.URL + ": " + request.NoProvider(m.URL)}
	}
	target := a.w.Rewrites.Apply(m.URL)
	if a.d.cfg.Outbound == "stub-only" {
		return engine.Outcome{Err: "delivery to " + target + " was not made: no stub matches it, and nothing else may go out (--outbound stub-only)"}
	}
	a.w.Outside.Leave()
	defer a.w.Outside.Return()
	start, repeats := a.d.cfg.Wall.Now(), a.r.Repeats(a.w)
	if repeats { // the destination verifies by its own clock
		if err := a.sign(start); err != nil {
			return engine.Outcome{Err: err.Error()}
		}
	}
	out = a.d.call(ctx, m, target, a.headers, a.body, a.limit)
	if !repeats {
		out.Took = a.d.cfg.Wall.Now().Sub(start)
	}
	return out
}

// record puts the request and its outcome into the journal of deliveries.
func (a *attempt) record(out *engine.Outcome) {
	out.BytesUp = len(a.body) + traffic.HeaderSize(a.headers)
	out.BytesIn = len(out.Body) + traffic.HeaderSize(http.Header(out.Header))
	m, shown := &a.Message, a.Redact.Header(engine.Header(a.headers), wire.Format{}.Carries)
	a.w.Deliveries.Add(&traffic.Delivery{
		At: a.At.UnixMilli(), RealAt: a.r.RealTime(a.w), MessageID: m.ID, Role: string(m.Role), Attempt: a.Number, URL: mask.URL(m.URL), Method: m.Method,
		Request:  traffic.Message{Header: http.Header(shown), Body: a.Redact.Content(a.body)},
		Response: traffic.Message{Status: out.Status, Header: http.Header(out.Header), Body: out.Body},
		Error:    mask.Text(out.Err), Note: out.Note, Stubbed: a.stubbed, NearMiss: mask.Text(a.nearMiss), DurationMs: float64(out.Took.Microseconds()) / 1000,
	})
}

// deliveryHeader returns the headers of a delivery: the forwarded ones, those that a
// delivery adds (wire.md, "Deliveries"), and the signature, in the names of a dialect.
func deliveryHeader(dialect *spec.Dialect, all spec.Dialects, a engine.Attempt, body []byte, signed time.Time) (http.Header, error) {
	m := a.Message
	most := 6 // headers that are added to most messages. Together with two others they fit into the smallest map
	if m.RunID != "" {
		most += 2
	}
	forward := m.Headers.Forward()
	names := forward.Len()
	h, values := make(http.Header, names+most), make([]string, 0, names+most)
	values = forward.CopyTo(engine.Header(h), values)
	for name := range h { // what the publisher forwards must not look like what the server says
		if name == wire.HopsHeader || isAdded(all, name) {
			delete(h, name)
		}
	}
	add := func(name, value string) {
		values = append(values, value)
		n := len(values)
		h[name] = values[n-1 : n : n]
	}
	add(header.MessageID, m.ID)
	add(header.Retried, strconv.Itoa(a.Number))
	if m.RunID != "" && m.Role != engine.RoleCall {
		ofRun(add, a)
	}
	for _, one := range [...]struct{ name, value string }{{header.TopicName, m.Group}, {header.ScheduleID, m.ScheduleID}, {header.CallerIP, m.CallerIP}} {
		if one.value != "" {
			add(one.name, one.value)
		}
	}
	if h.Get("User-Agent") == "" {
		add("User-Agent", dialect.UserAgent)
	}
	token, err := signDelivery(dialect, a, body, signed)
	if err != nil {
		return nil, fmt.Errorf("signature: %w", err)
	}
	add(header.Signature, token)
	return dialect.BrandHeader(h), nil
}

// isAdded reports whether a header has the name of one that a delivery adds, in any dialect. Some
// frameworks read _ as -.
func isAdded(dialects spec.Dialects, name string) bool {
	name = strings.ReplaceAll(name, "_", "-")
	return slices.ContainsFunc(dialects, func(d *spec.Dialect) bool {
		n := len(d.HeaderPrefix)
		return len(name) > n && strings.EqualFold(name[:n], d.HeaderPrefix) && slices.ContainsFunc(wire.AddedHeaders, func(own string) bool {
			return strings.EqualFold(name[n:], own[len(header.Prefix):])
		})
	})
}

// ofRun adds the effective configuration to a call of a workflow endpoint
// (wire.md, "Calls to a workflow endpoint").
func ofRun(add func(name, value string), a engine.Attempt) {
	add("Svc-Retries", strconv.Itoa(a.Number))
	add("Svc-Max-Retries", strconv.Itoa(int(a.Message.MaxRetries)))
	if f := a.Message.Options.RetryDelay; f != nil {
		add("Svc-Retry-Delay", f.String())
	}
	if f := a.Message.Options.Flow; f != nil {
		add("Svc-Flow-Control-Key", f.Key)
		add("Svc-Flow-Control-Value", request.FlowText(f))
	}
}

// call makes the request. Timeouts are wall time: the destination is real.
func (d *Deliverer) call(ctx context.Context, m *engine.Message, target string, header http.Header, body []byte, timeout time.Duration) engine.Outcome {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	first := &try{hops: strconv.Itoa(m.Options.Hops+1) + " " + m.Family()}
	request, err := http.NewRequestWithContext(first.traced(limited), m.Method, target, nil)
	if err != nil {
		return engine.Outcome{Err: "request cannot be made: " + err.Error()}
	}
	request.Header, request.ContentLength = header, int64(len(body))
	if host := header.Get("Host"); host != "" {
		request.Host = host
	}
	if user := request.URL.User; user != nil && header.Get("Authorization") == "" {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	if d.cfg.Sign != nil {
		d.cfg.Sign(request, first.hops)
	}
	response, err := d.exchange(first, request, body)
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

// read reads an answer. A large one waits for room, so that the answers of all
// concurrent attempts are bounded. The caller must release the taken room.
func (d *Deliverer) read(ctx context.Context, response *http.Response) (answer []byte, taken int64, err error) {
	limit := d.cfg.MaxResponse
	var body io.Reader = response.Body
	length := min(response.ContentLength, limit)
	if length < 0 || length < response.ContentLength { // otherwise the body ends by itself
		body = io.LimitReader(body, limit)
	}
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

// whyNot describes in one line at which stage a call failed.
func whyNot(ctx context.Context, err error, timeout time.Duration) string {
	var dns *net.DNSError
	var op *net.OpError
	var outside *outsideError
	switch {
	case errors.As(err, &outside):
		return outside.Error()
	case ctx.Err() != nil:
		return "attempt was cut off: the message was cancelled or the server stops"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within the timeout of %s", timeout)
	case errors.As(err, &dns):
		return "host name cannot be resolved: " + dns.Error()
	case errors.As(err, &op) && op.Op == "dial":
		why := op.Err
		for errors.Unwrap(why) != nil {
			why = errors.Unwrap(why)
		}
		return fmt.Sprintf("%v by %v", why, op.Addr)
	case strings.Contains(err.Error(), "tls:") || strings.Contains(err.Error(), "x509:") || strings.Contains(err.Error(), "HTTP response to HTTPS"):
		return "TLS handshake failed: " + err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection was closed without an answer"
	}
	return clip.Line(err.Error())
}
