package conformance

import (
	"net/http"
	"strings"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
)

// canaryHeader is the name of a header that a canary asks to forward under a known header
// prefix, which is its value.
const canaryHeader = "X-Canary"

// brandProbes are the headers of the canaries: one for each known prefix, until one is
// forwarded, or one without any when the target file names the prefix.
func (st *suite) brandProbes() []http.Header {
	if st.Target.Bindings.BrandPrefix != "" {
		return []http.Header{nil}
	}
	var list []http.Header
	for _, prefix := range harness.Prefixes() {
		h := http.Header{}
		h.Set(prefix+"Forward-"+canaryHeader, prefix)
		list = append(list, h)
	}
	return list
}

// findBrand sets the prefix from the canary that arrived, and reports whether it is known.
// Without one, the suite cannot judge anything that needs the prefix.
func (st *suite) findBrand(arrived []*receiver.Received) bool {
	b := &st.Target.Bindings
	if b.BrandPrefix != "" {
		return true
	}
	for _, got := range arrived {
		for _, prefix := range harness.Prefixes() {
			if harness.Carrying(got, prefix) == "" {
				continue
			}
			b.BrandPrefix = strings.TrimSuffix(prefix, "-")
			b.Neutral()
			st.Unbranded, st.Dialect = false, b.Dialect()
			st.Receiver.Speak(st.Dialect)
			st.Observe("brand_prefix", b.BrandPrefix)
			return true
		}
	}
	return false
}
