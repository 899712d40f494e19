package control

import (
	"encoding/json"
	"net/http"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// inDialect writes a part of an answer of the control API with the names of a dialect.
func inDialect(d *spec.Dialect, v any) any {
	if d.HeaderPrefix == header.Prefix {
		return v
	}
	text, err := json.Marshal(v)
	if err != nil {
		return v // encoding the answer reports the error
	}
	return json.RawMessage(d.BrandJSON(text))
}

// brandHeader is a header with the names of a dialect.
func brandHeader(d *spec.Dialect, h engine.Header) engine.Header {
	return engine.Header(d.BrandHeader(http.Header(h)))
}
