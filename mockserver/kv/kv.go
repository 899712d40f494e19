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
)

// Config configures a store. Token is required.
type Config struct {
	Token    string           // allows all commands
	Capacity *Capacity        // nil: 256 MiB of its own
	Now      func() time.Time // time of the store, for TIME and expiry; nil: wall time
}

// KV is a store behind its REST interface. It is an http.Handler, and safe for
// concurrent use.
type KV struct {
	cfg    Config
	calls  atomic.Int64 // the sync token
	closed atomic.Bool

	mu       sync.Mutex // guards the start of embedded
	embedded *embedded  // nil: not started
}

// New prepares a store. It starts nothing before the first command, so that an unused
// store of an account costs nothing.
func New(cfg Config) (*KV, error) {
	if cfg.Token == "" {
		return nil, errors.New("kv: Token is empty: must be set")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Capacity == nil {
		cfg.Capacity = NewCapacity(defaultCapacity)
	}
	return &KV{cfg: cfg}, nil
}

// Close releases the data. Later commands are refused.
func (k *KV) Close() error {
	k.closed.Store(true)
	k.Reset()
	return nil
}

// Reset removes all data. It waits for the commands in progress.
func (k *KV) Reset() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.embedded != nil {
		k.embedded.close()
		k.embedded = nil
	}
}

// started returns the store, and starts it for the first command.
func (k *KV) started() (*embedded, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed.Load() {
		return nil, errors.New("ERR the store is closed")
	}
	if k.embedded == nil {
		e, err := newEmbedded(k.cfg.Now, k.cfg.Capacity)
		if err != nil {
			return nil, fmt.Errorf("ERR the store does not start: %w", err)
		}
		k.embedded = e
	}
	return k.embedded, nil
}

// maxTime is how long the commands of one request may run. Those that have not run by then get
// an error: they must neither hold the store nor outlive their client.
const maxTime = 5 * time.Second

var errTime = fmt.Errorf("the request takes longer than %s", maxTime)

// Do runs commands, and starts the store if necessary. The reply to a command that fails is its
// error.
func (k *KV) Do(ctx context.Context, commands ...[]string) ([]any, error) {
	e, err := k.started()
	if err != nil {
		return nil, err
	}
	return e.run(connect(ctx), commands), nil
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
	e, err := k.started()
	if err != nil {
		refuseRequest(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), maxTime, errTime)
	defer cancel()
	run := e.run
	if c.kind == transactionRequest {
		run = e.transact
	}
	format.write(w, c.kind, run(connect(ctx), c.commands))
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
