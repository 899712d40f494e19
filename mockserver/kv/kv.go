package kv

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxRequest is the largest request body in bytes (wire.md, "Key-value REST interface": 10 MB).
const maxRequest = 10 << 20

// Error texts that clients of the interface compare or show.
const (
	errAuth     = "WRONGPASS invalid or missing auth token; `understudy env` prints the credentials"
	errTooLarge = "ERR max request size exceeded"
	errClosed   = "ERR the store is closed"
)

// Config configures a store. Token is required.
type Config struct {
	Token    string           // allows all commands
	URL      string           // redis://, rediss:// or unix:// of a real server; "": embedded
	Prefix   string           // of all keys in a real server, which stores may share
	Capacity *Capacity        // of the embedded store; nil: 256 MiB of its own
	Now      func() time.Time // time of the embedded store, for TIME and expiry; nil: wall time
}

// KV is a store behind its REST interface. It is an http.Handler, and safe for
// concurrent use.
type KV struct {
	cfg    Config
	recent recent
	calls  atomic.Int64 // the sync token
	closed atomic.Bool

	mu      sync.Mutex // guards the start of backend
	backend backend
}

// A backend runs commands. The reply to a command that it cannot run is a failure, so
// that there is one reply for each command.
type backend interface {
	run(ctx context.Context, commands [][]string) []any
	transact(ctx context.Context, commands [][]string) []any // a single failure: all were discarded
	close() error
}

// New prepares a store. It starts or connects nothing before the first command, so
// that an unused store of an account costs nothing.
func New(cfg Config) (*KV, error) {
	if cfg.Token == "" {
		return nil, errors.New("kv: Token is empty: must be set")
	}
	if cfg.Now == nil {
		cfg.Now = wallTime
	}
	if cfg.Capacity == nil {
		cfg.Capacity = NewCapacity(defaultCapacity)
	}
	k := &KV{cfg: cfg}
	if cfg.URL != "" {
		remote, err := newRemote(cfg.URL, cfg.Prefix)
		if err != nil {
			return nil, err
		}
		k.backend = remote
	}
	return k, nil
}

// Close releases the data or the connections. It does not wait for commands in
// progress; later ones are refused.
func (k *KV) Close() error {
	k.closed.Store(true)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.backend == nil {
		return nil
	}
	b := k.backend
	k.backend = nil
	return b.close()
}

// Reset removes all data. In a real server it removes the keys with the prefix;
// without a prefix, it removes nothing there.
func (k *KV) Reset(ctx context.Context) error {
	k.recent.clear()
	k.mu.Lock()
	defer k.mu.Unlock()
	if r, ok := k.backend.(*remote); ok {
		if r.prefix == "" {
			return nil
		}
		if err := r.clear(ctx); err != nil {
			return errors.New(r.silence(err))
		}
		return nil
	}
	if k.backend != nil {
		_ = k.backend.close() // only memory: cannot fail
		k.backend = nil
	}
	return nil
}

// Ping returns an error if the real server does not answer; nil for an embedded store.
func (k *KV) Ping(ctx context.Context) error {
	k.mu.Lock()
	b := k.backend
	k.mu.Unlock()
	if r, ok := b.(*remote); ok {
		return r.ping(ctx)
	}
	return nil
}

// started returns the backend, and starts it for the first command.
func (k *KV) started() (backend, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed.Load() {
		return nil, errors.New(errClosed)
	}
	if k.backend == nil {
		b, err := newEmbedded(k.cfg.Now, k.cfg.Capacity)
		if err != nil {
			return nil, fmt.Errorf("ERR the store does not start: %w", err)
		}
		k.backend = b
	}
	return k.backend, nil
}

// ServeHTTP answers POST / with one command, POST /pipeline and /multi-exec
// with several, and /COMMAND/ARGUMENT/... for clients that only have a URL.
func (k *KV) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Svc-Sync-Token", strconv.FormatInt(k.calls.Add(1), 10))
	if !k.admits(r) {
		refuseRequest(w, http.StatusUnauthorized, errAuth)
		return
	}
	format, err := readFormat(r.Header)
	if err != nil {
		refuseRequest(w, http.StatusBadRequest, err.Error())
		return
	}
	c, status, err := readCall(w, r)
	if err != nil {
		refuseRequest(w, status, err.Error())
		return
	}
	b, err := k.started()
	if err != nil {
		refuseRequest(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	replies := k.perform(r.Context(), b, c)
	for _, reply := range replies {
		if text, down := reply.(outage); down {
			refuseRequest(w, http.StatusServiceUnavailable, string(text))
			return
		}
	}
	format.write(w, c.kind, replies)
}

// admits reports whether the token of a request is valid.
func (k *KV) admits(r *http.Request) bool {
	token := r.URL.Query().Get("_token")
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, rest, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return false
		}
		token = strings.TrimSpace(rest)
	}
	return subtle.ConstantTimeCompare([]byte(token), []byte(k.cfg.Token)) == 1
}

// perform runs the allowed commands. The reply to any other is a failure, and
// a transaction with one is discarded as a whole.
func (k *KV) perform(ctx context.Context, b backend, c call) []any {
	replies := make([]any, len(c.commands))
	var run [][]string
	var place []int
	for i, command := range c.commands {
		if text := refusalOf(command); text != "" {
			if c.kind == transactionRequest {
				return []any{failure(text)}
			}
			replies[i] = failure(text)
			continue
		}
		k.recent.note(command)
		run = append(run, command)
		place = append(place, i)
	}
	if c.kind == transactionRequest {
		return b.transact(ctx, run)
	}
	for i, value := range b.run(ctx, run) {
		replies[place[i]] = value
	}
	return replies
}

// refuseRequest responds with an error to the whole request.
func refuseRequest(w http.ResponseWriter, status int, text string) {
	body, _ := json.Marshal(fault{text}) // a string always encodes
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if status == http.StatusMethodNotAllowed {
		h.Set("Allow", "GET, HEAD, POST, PUT")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}
