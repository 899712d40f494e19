package target

import (
	"strings"
	"time"

	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// Fill sets the defaults of what a target file omits.
func (t *Target) Fill() {
	tm := &t.Timing
	for _, d := range []struct {
		into *time.Duration
		to   time.Duration
	}{
		{&tm.DeliveryBudget, 15 * time.Second}, {&tm.SettleBudget, 30 * time.Second}, {&tm.StatsBudget, 5 * time.Minute},
		{&tm.RetryBudget, 2 * time.Minute}, {&tm.RequestTimeout, 30 * time.Second}, {&tm.ClockSkewMax, 5 * time.Second}, {&tm.Poll.First, 100 * time.Millisecond},
		{&tm.Poll.Max, 3 * time.Second}, {&t.Limits.Wall, 30 * time.Minute},
	} {
		if *d.into == 0 {
			*d.into = d.to
		}
	}
	if tm.Scale == 0 {
		tm.Scale = 1
	}
	if tm.Poll.Factor == 0 {
		tm.Poll.Factor = 1.5
	}
	if t.Isolation.Prefix == "" {
		t.Isolation.Prefix = "cf"
	}
	if t.Receiver.Mode == "" {
		t.Receiver.Mode = "listen"
	}
	if t.Target.Name == "" {
		t.Target.Name = t.Target.URLs.Base
	}
	t.Bindings.Neutral()
}

// Filled replaces empty URLs by the base, except for KV, and removes trailing slashes.
func (u URLs) Filled() URLs {
	u.Base = strings.TrimRight(u.Base, "/")
	for _, p := range []*string{&u.Region, &u.Dev, &u.Vector} {
		if *p == "" {
			*p = u.Base
		}
		*p = strings.TrimRight(*p, "/")
	}
	u.KV = strings.TrimRight(u.KV, "/")
	return u
}

// ByName returns the addresses that are set.
func (u URLs) ByName() map[string]string {
	out := map[string]string{"base": u.Base}
	for name, v := range map[string]string{"region": u.Region, "dev": u.Dev, "vector": u.Vector, "kv": u.KV} {
		if v != "" {
			out[name] = v
		}
	}
	return out
}

// Neutral replaces the brand's prefix of bound header names by the neutral one. The
// suite works with neutral names and adds the prefix of the brand when it sends.
func (b *Bindings) Neutral() {
	d := b.Dialect()
	headers := make(map[string]string, len(b.Headers))
	for meaning, name := range b.Headers {
		if len(name) > len(d.HeaderPrefix) && strings.EqualFold(name[:len(d.HeaderPrefix)], d.HeaderPrefix) {
			name = header.Prefix + name[len(d.HeaderPrefix):]
		}
		headers[meaning] = name
	}
	b.Headers = headers
}

// Dialect is the dialect that the target uses.
func (b Bindings) Dialect() *spec.Dialect {
	prefix := strings.Trim(b.BrandPrefix, "-")
	if prefix == "" {
		prefix = "Svc"
	}
	d, err := spec.LoadDialect(strings.ToLower(prefix))
	if err != nil {
		d, _ = spec.LoadDialect("") // the neutral one always loads
		d.Name, d.HeaderPrefix, d.QueryPrefix = strings.ToLower(prefix), prefix+"-", strings.ToLower(prefix)+"-"
		d.TokenQuery = strings.ToLower(prefix) + "_token"
	}
	if token := b.Publish["token_query"]; token != "" {
		d.TokenQuery = token
	}
	return d
}
