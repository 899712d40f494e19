package conformance

import (
	"net/http"
	"strings"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
)

// canaryHeader is what the canary asks to be forwarded, by each header prefix that
// is known: the value that arrives names the prefix that the target takes.
const canaryHeader = "X-Canary"

// brandProbe are the headers of a canary that finds out the prefix, nil where the
// target file names it.
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

// findBrand takes the prefix from the canary that arrived, if any did. Without one
// nothing that needs the prefix can be judged.
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
