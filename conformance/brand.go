package conformance

import (
	"net/http"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// canaryHeader is what the canary asks to be forwarded, by each header prefix that
// is known: the value that arrives names the prefix that the target takes.
const canaryHeader = "X-Canary"

// prefixes are those of the neutral and the built-in dialects.
func prefixes() []string {
	list := []string{header.Prefix}
	for _, d := range spec.BuiltInDialects() {
		if !slices.Contains(list, d.HeaderPrefix) {
			list = append(list, d.HeaderPrefix)
		}
	}
	return list
}

// brandProbe are the headers of a canary that finds out the prefix, nil where the
// target file names it.
func (st *suite) brandProbe() http.Header {
	if st.cfg.Target.Bindings.BrandPrefix != "" {
		return nil
	}
	h := http.Header{}
	for _, prefix := range prefixes() {
		h.Set(prefix+"Forward-"+canaryHeader, prefix)
	}
	return h
}

// findBrand takes the prefix from the canary that arrived, if any did. Without one
// nothing that needs the prefix can be judged.
func (st *suite) findBrand(arrived []*receiver.Received) {
	if st.cfg.Target.Bindings.BrandPrefix != "" {
		return
	}
	st.unbranded = true
	for _, got := range arrived {
		for _, prefix := range prefixes() {
			if carrying(got, prefix) == "" {
				continue
			}
			b := &st.cfg.Target.Bindings
			b.BrandPrefix = strings.TrimSuffix(prefix, "-")
			b.Neutral()
			st.unbranded, st.dialect = false, b.Dialect()
			st.receiver.Speak(st.dialect)
			st.observe("brand_prefix", b.BrandPrefix)
			return
		}
	}
}

// needsBrand is why a request with these names cannot be sent: nobody knows the
// prefix on the wire.
func (st *suite) needsBrand(names ...string) error {
	branded := func(name string) bool {
		return strings.HasPrefix(strings.ToLower(name), header.Query(header.Prefix)) || strings.EqualFold(name, "svc_token")
	}
	if !st.unbranded || !slices.ContainsFunc(names, branded) {
		return nil
	}
	return skip(report.BindingMissing, "bindings.brand_prefix: the target takes none of the known header prefixes (%s); say in the target file what it is", strings.Join(prefixes(), ", "))
}
