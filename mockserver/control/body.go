package control

import (
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/messaging"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/traffic"
)

// bodySources find a body by the kind and the id of its owner and the name of the body. Sorted.
var bodySources = map[string]func(c *request.Call, id, place string) ([]byte, error){
	"dlq":      entryBody,
	"messages": messageBody,
	"requests": requestBody,
	"runs":     runBody,
}

// bodyPart is a part of a body: text, cut at character boundaries, or base64 of other bytes.
type bodyPart struct {
	Size   int     `json:"size"` // bytes of the whole body
	IsText bool    `json:"text"` // the whole body is valid UTF-8
	Start  int     `json:"start"`
	End    int     `json:"end"`
	Body   *string `json:"body,omitempty"`
	Base64 *string `json:"bodyBase64,omitempty"`
}

// body returns a part of one body; it does not copy the rest.
func (*Service) body(c *request.Call) (any, error) {
	id, place := c.Vars["id"], c.Query.Get("place")
	whole, err := bodySources[c.Vars["kind"]](c, id, place)
	if err != nil {
		return nil, err
	}
	p := bodyPart{Size: len(whole), IsText: utf8.Valid(whole), Start: min(c.Number("start"), len(whole))}
	p.End = len(whole)
	if most := c.Number("maxBody"); most > 0 && most < p.End-p.Start {
		p.End = p.Start + most
	}
	for p.IsText && p.Start < p.End && !utf8.RuneStart(whole[p.Start]) {
		p.Start++
	}
	for p.IsText && p.End < len(whole) && !utf8.RuneStart(whole[p.End]) {
		p.End++
	}
	p.Body, p.Base64 = response.BodyText(whole[p.Start:p.End])
	return response.Response{Status: http.StatusOK, Body: p}, nil
}

func noBody(of, place string) error {
	return refusal.Of(refusal.NotFound, "body", place, "not found; "+of)
}

// messageBody is the body of a message, or of one of its attempts: request-1, response-1.
func messageBody(c *request.Call, id, place string) ([]byte, error) {
	if place == "" {
		t, err := c.Account.Trace(id)
		return t.Message.Body, err
	}
	half, number, _ := strings.Cut(place, "-")
	n, err := strconv.Atoi(number)
	if err != nil || half != "request" && half != "response" {
		return nil, noBody("a message has request-1 and response-1, and so on, by the numbers of its attempts", place)
	}
	list, _ := c.Tenant.Deliveries.List(1, traffic.Filter{ID: id, Attempt: new(n - 1)})
	if len(list) == 0 {
		return nil, noBody("the journal keeps the latest attempts only", place)
	}
	if half == "response" {
		return list[0].Response.Body, nil
	}
	return list[0].Request.Body, nil
}

// requestBody is the body of a request in the journal, or of its response, by position.
func requestBody(c *request.Call, position, place string) ([]byte, error) {
	n, err := strconv.Atoi(position)
	list, _ := c.Tenant.Requests.List(1, traffic.Filter{Position: &n})
	switch {
	case err != nil || len(list) == 0:
		return nil, refusal.Of(refusal.NotFound, "request", position, "not found; the journal keeps the latest requests only")
	case place == "response":
		return list[0].Response.Body, nil
	case place == "" || place == "request":
		return list[0].Request.Body, nil
	}
	return nil, noBody("a request has request and response", place)
}

// entryBody is the body or payload of a DLQ entry, or the last answer, or its error.
func entryBody(c *request.Call, id, place string) ([]byte, error) {
	e, err := c.Account.DLQEntry(id)
	switch {
	case err != nil:
		return nil, err
	case place == "response" && e.Last.Status == 0 && e.Last.Err != "":
		return []byte(strings.ToValidUTF8(e.Last.Err, "?")), nil
	case place == "response":
		return e.Last.Body, nil
	case place == "" && e.Run != nil:
		return e.Payload, nil
	case place == "":
		return e.Message.Body, nil
	}
	return nil, noBody("a DLQ entry has its content, without a place, and response", place)
}

// runBody is the payload of a run, its output, or the output of a step, such as step-0.
func runBody(c *request.Call, id, place string) ([]byte, error) {
	t, err := c.Account.RunTrace(id)
	if err != nil {
		return nil, err
	}
	number, isStep := strings.CutPrefix(place, "step-")
	n, err := strconv.Atoi(number)
	switch {
	case place == "":
		return t.Run.Payload, nil
	case place == "output":
		return t.Run.Result, nil
	case isStep && err == nil && n >= 0 && n < len(t.Spans):
		if out := messaging.Step(&t.Spans[n].Step).Out; out != nil {
			return []byte(*out), nil
		}
		return nil, nil
	}
	return nil, noBody("a run has its payload, without a place, output, and step-0 and so on", place)
}
