package ratelimit

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/ratelimit"
)

// DefaultPrefix is the prefix of keys if the configuration has none.
const DefaultPrefix = "@svc"

// defaultTimeout is how long a request waits for the store before it is admitted.
const defaultTimeout = time.Second

// Config is the configuration of the plugin: the keys of the interface document
// ("Rate-limit plugin configuration"), and settings of the host application.
type Config struct {
	Enabled   *bool      `json:"enabled,omitempty"` // nil: true
	Token     string     `json:"token"`
	URL       string     `json:"url"`
	Prefix    string     `json:"prefix,omitempty"` // "": DefaultPrefix
	Analytics bool       `json:"analytics,omitempty"`
	Strategy  []Strategy `json:"strategy"`

	TrustedProxies []netip.Prefix   `json:"-"` // proxies whose X-Forwarded-For is trusted; empty: none
	Timeout        time.Duration    `json:"-"` // for the store, per request; 0: 1 s
	Client         *http.Client     `json:"-"` // for the store; nil: a new client
	Log            *slog.Logger     `json:"-"` // nil: slog.Default()
	Now            func() time.Time `json:"-"` // nil: wall time, or the time of a stand-in whose clock is moved
	Stats          *Stats           `json:"-"` // nil: not counted
}

// Strategy limits some methods of some routes.
type Strategy struct {
	Methods          []string `json:"methods"`
	Path             string   `json:"path"`
	IdentifierSource string   `json:"identifierSource"` // ip, or header.NAME
	Debug            Debug    `json:"debug,omitempty"`
	Limiter          Limiter  `json:"limiter"`
}

// Limiter is the algorithm and the limit of a strategy.
type Limiter struct {
	Algorithm  ratelimit.Algorithm `json:"algorithm"`
	Tokens     int64               `json:"tokens"`
	Window     string              `json:"window"`               // such as 20s; see ratelimit.ParseWindow
	RefillRate int64               `json:"refillRate,omitempty"` // tokens per window of a token bucket; 0: Tokens
}

// UnmarshalJSON accepts whole numbers in every spelling of JSON, including 1e3.
func (l *Limiter) UnmarshalJSON(text []byte) error {
	var plain struct {
		Algorithm          ratelimit.Algorithm
		Tokens, RefillRate float64
		Window             string
	}
	err := json.Unmarshal(text, &plain)
	*l = Limiter{Algorithm: plain.Algorithm, Tokens: int64(plain.Tokens), Window: plain.Window, RefillRate: int64(plain.RefillRate)}
	return err
}

// Debug is on unless it is "" or "false". The document has a string, typed
// configurations have a boolean.
type Debug string

// UnmarshalJSON reads a string or a boolean.
func (d *Debug) UnmarshalJSON(text []byte) error {
	*d = Debug(strings.Trim(string(text), `"`))
	return nil
}

func (d Debug) on() bool { return d != "" && d != "false" }

// Parse reads a configuration in JSON. The error is an *Invalid with all problems,
// or names the line with invalid JSON.
func Parse(text []byte) (Config, error) {
	if err := check(text); err != nil {
		return Config{}, err
	}
	var c Config
	if err := json.Unmarshal(text, &c); err != nil {
		return Config{}, fmt.Errorf("rate-limit configuration: %w", err)
	}
	return c, nil
}

// complete validates a configuration that was made in Go with the rules for JSON,
// and fills in the defaults.
func (c *Config) complete() error {
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("rate-limit configuration: %w", err)
	}
	if err := check(text); err != nil {
		return err
	}
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Stats == nil {
		c.Stats = &Stats{}
	}
	if c.Client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 256 // each request that waits for a decision needs a connection
		c.Client = &http.Client{Transport: transport}
	}
	return nil
}

// limit converts the limiter for the algorithms.
func (l Limiter) limit() (ratelimit.Limit, error) {
	window, err := ratelimit.ParseWindow(l.Window)
	limit := ratelimit.Limit{Algorithm: l.Algorithm, Tokens: l.Tokens, Window: window}
	if l.Algorithm == ratelimit.Bucket {
		limit.RefillRate = l.RefillRate
	}
	if err != nil {
		return limit, err
	}
	return limit, limit.Check()
}
