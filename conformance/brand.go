package conformance

import (
	"net/http"
	"strings"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
)

// canaryHeader is the name of a header that the canary asks to forward, once under
// each known header prefix. The value that arrives is the prefix that the target supports.
const canaryHeader = "X-Canary"

// brandProbe returns the headers of a canary that detects the prefix, nil if the
// target file names the prefix.
func (st *suite) brandProbe() http.Header {
	if st.Target.Bindings.BrandPrefix != "" {
		return nil
	}
	h := http.Header{}
	for _, prefix := range harness.Prefixes() {
		h.Set(prefix+"Forward-"+canaryHeader, prefix)
	}
	return h
}

// findBrand sets the prefix from the canary that arrived. Without one, the suite
// cannot judge anything that needs the prefix.
func (st *suite) findBrand(arrived []*receiver.Received) {
	if st.Target.Bindings.BrandPrefix != "" {
		return
	}
	st.Unbranded = true
	for _, got := range arrived {
		for _, prefix := range harness.Prefixes() {
			if harness.Carrying(got, prefix) == "" {
				continue
			}
			b := &st.Target.Bindings
			b.BrandPrefix = strings.TrimSuffix(prefix, "-")
			b.Neutral()
			st.Unbranded, st.Dialect = false, b.Dialect()
			st.Receiver.Speak(st.Dialect)
			st.Observe("brand_prefix", b.BrandPrefix)
			return
		}
	}
}
