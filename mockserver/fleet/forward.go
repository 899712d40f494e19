package fleet

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// The headers between members.
const (
	tokenHeader    = "Understudy-Fleet"          // of a forwarded request: the token, which clients cannot forge
	clientHeader   = "Understudy-Fleet-Client"   // the address of the client
	deliveryHeader = "Understudy-Fleet-Delivery" // of a delivery by a member: the token and the number of hops
	movedHeader    = "Understudy-Fleet-Moved"    // of a response: the account is elsewhere, and the request had no effect
)

const (
	dialWithin    = time.Second
	idlePerMember = 256              // connections
	idleWithin    = 30 * time.Second // less than the idle timeout of servers
	// lastWords is how long a server that has given an account away may take for its
	// last responses.
	lastWords = time.Second
)

// newTransport returns a transport for requests between members.
func newTransport() *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialWithin}).DialContext,
		MaxIdleConnsPerHost: idlePerMember,
		IdleConnTimeout:     idleWithin,
		DisableCompression:  true, // the response is passed on unchanged
	}
}

// tokenOf returns the token of forwarded requests, a hash of the secret. Without a secret,
// the members share a generated one that the cluster keeps.
func tokenOf(ctx context.Context, owners jetstream.KeyValue, secret string) (string, error) {
	const key = "secret"
	if secret == "" {
		secret = rand.Text()
		_, err := owners.Create(ctx, key, []byte(secret))
		for errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyNotFound) { // not found: read from a node of the cluster that lags
			var kept jetstream.KeyValueEntry
			if kept, err = owners.Get(ctx, key); err == nil {
				secret = string(kept.Value())
			}
		}
		if err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256([]byte("fleet " + secret))
	return hex.EncodeToString(sum[:]), nil
}

// markOf is a part of a hash of a token, by which members recognize that they have the same.
func markOf(token string) string {
	sum := sha256.Sum256([]byte("mark " + token))
	return hex.EncodeToString(sum[:8])
}

// arrived removes the headers of the fleet from a request, and reports whether another
// member has forwarded it. The RemoteAddr of a forwarded request becomes the client's.
func (f *Fleet) arrived(r *http.Request) (forwarded bool, err error) {
	token, client := r.Header.Get(tokenHeader), r.Header.Get(clientHeader)
	if token == "" {
		r.Header.Del(clientHeader)
		return false, nil
	}
	if subtle.ConstantTimeCompare([]byte(token), []byte(f.token)) != 1 {
		return false, response.Forbidden("header " + tokenHeader + ": not that of this fleet: all its servers must have the same --fleet-secret")
	}
	r.Header.Del(tokenHeader)
	r.Header.Del(clientHeader)
	r.RemoteAddr = client
	return true, nil
}

// Sign marks a request to another member as a delivery, with the number of its hops.
func (f *Fleet) Sign(r *http.Request, hops string) {
	if f.reaches(r.URL) {
		r.Header = r.Header.Clone() // a copy: the journal of deliveries must not contain the signature
		f.sign(r.Header, hops)
	}
}

func (f *Fleet) sign(h http.Header, hops string) { h.Set(deliveryHeader, f.token+" "+hops) }

// signed removes the mark of a delivery from a header, and reports whether a member has
// set it.
func (f *Fleet) signed(h http.Header) (hops string, ok bool) {
	token, hops, _ := strings.Cut(h.Get(deliveryHeader), " ")
	h.Del(deliveryHeader)
	return hops, token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(f.token)) == 1
}

// reaches reports whether a URL leads to another member or to Config.Front.
func (f *Fleet) reaches(u *url.URL) bool {
	if front := f.cfg.Front; front != nil && u.Scheme == front.Scheme && hostPort(u) == hostPort(front) {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, m := range f.alive {
		if id != f.id && m.URL == u.Scheme+"://"+u.Host {
			return true
		}
	}
	return false
}

// hostPort returns the host of a URL in lower case, with its port or the default one.
func hostPort(u *url.URL) string {
	return net.JoinHostPort(strings.ToLower(u.Hostname()), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
}

// place is where an account is served now.
type place struct {
	Here    bool   // by this server, now or soon
	URL     string // of the server; "" when it is not known
	Unknown bool   // not known now; call find again
	Reason  string // why it is not served; "" when it is or may soon be
	Passing bool   // the reason is temporary

	Changed <-chan struct{} // closed when this may have changed
}

// find returns where an account is served. A process that was suspended catches up first:
// another server may have taken the account, so that the data here are old.
func (f *Fleet) find(ctx context.Context, account string) place {
	if f.wasStopped() && !f.catchUpSoon(ctx) {
		return place{Unknown: true, Reason: "this server was suspended, and has not caught up with the others yet", Passing: true}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.outdated(account) {
		return place{Unknown: true, Reason: "this server reads the account again, which another one had", Passing: true, Changed: f.changed}
	}
	c := f.owner[account]
	p := place{Here: c.member == f.id, Changed: f.changed}
	if m, ok := f.alive[c.member]; ok && !p.Here {
		p.URL = m.URL
	}
	if why, ok := f.refused[account]; ok {
		p.Reason, p.Passing = why.err.Error(), why.passing()
	}
	return p
}

// catchUp waits until this server has seen all current accounts and owners of the cluster.
func (f *Fleet) catchUp(ctx context.Context) error {
	return errors.Join(f.directory.sync(ctx), f.owners.sync(ctx))
}

// passed is the outcome of pass.
type passed int

const (
	answered passed = iota // the response has been passed on
	notDone                // it had no effect, and can be repeated
	unknown                // it may have had an effect
)

// errMoved is the error for a response with movedHeader.
var errMoved = errors.New("the account has moved")

// errReplaced is the error for a request whose server has lost the account and has not responded.
var errReplaced = errors.New("it is no longer the server of the account")

// pass sends a request to the member at a URL and passes its response on. It cancels
// the request when the account moves meanwhile. A nil body means the body of r.
func (f *Fleet) pass(w http.ResponseWriter, r *http.Request, body []byte, account, at string) (passed, error) {
	target, err := url.Parse(at)
	if err != nil {
		return notDone, fmt.Errorf("fleet: address %q of a server: %w", at, err)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	forget := func() bool { return false }
	defer func() { forget() }()
	watching.Go(func() { f.cancelWhenMoved(ctx, account, at, cancel) })
	out := r.WithContext(ctx)
	if body != nil {
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	var failed error
	proxy := httputil.ReverseProxy{
		Transport:     f.transport,
		FlushInterval: -1, // event streams
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = target.Scheme, target.Host, p.In.Host
			p.Out.URL.RawQuery = p.In.URL.RawQuery
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} { // as the client sent them
				if v, ok := p.In.Header[name]; ok {
					p.Out.Header[name] = v
				}
			}
			p.Out.Header.Set(tokenHeader, f.token)
			p.Out.Header.Set(clientHeader, p.In.RemoteAddr)
		},
		ModifyResponse: func(response *http.Response) error {
			if response.Header.Get(movedHeader) != "" {
				return errMoved
			}
			if response.Header.Get("Content-Type") == "text/event-stream" {
				forget = context.AfterFunc(f.streaming, func() { cancel(nil) })
				response.Body = stream{response.Body}
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	proxy.ServeHTTP(w, out)
	// A member acts only on requests that it has read completely: a failed write had no effect.
	var op *net.OpError
	switch {
	case failed == nil:
		return answered, nil
	case errors.Is(failed, errMoved), errors.As(failed, &op) && (op.Op == "dial" || op.Op == "write"), r.Method == http.MethodGet, r.Method == http.MethodHead:
		return notDone, failed
	case errors.Is(context.Cause(ctx), errReplaced):
		return unknown, errReplaced // the reason for the cancellation
	}
	return unknown, failed
}

// stream is an event stream of another member. Whatever ends it, its end is clean, and the
// client connects again.
type stream struct{ io.ReadCloser }

func (s stream) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// cancelWhenMoved cancels a request when its server no longer serves the account, because
// that server may never respond.
func (f *Fleet) cancelWhenMoved(ctx context.Context, account, at string, cancel context.CancelCauseFunc) {
	for {
		p := f.find(ctx, account)
		switch {
		case p.Unknown: // nothing follows from this server's own suspension
			if clock.Pause(ctx, renewEvery) != nil {
				return
			}
			continue
		case p.URL != at:
			_ = clock.Pause(ctx, lastWords)
			cancel(errReplaced)
			return
		}
		select {
		case <-p.Changed:
		case <-ctx.Done():
			return
		}
	}
}
