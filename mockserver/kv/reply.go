package kv

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// A reply is nil, an int64, a string, a []any of replies, or one of these.
type (
	status  string // OK, PONG, ...
	failure string // an error text
)

// Envelopes of the interface. result is always present, also as null: clients treat
// its absence as an error.
type (
	result struct {
		Result any `json:"result"`
	}
	fault struct {
		Error string `json:"error"`
	}
)

// format is the format of a response.
type format struct {
	base64 bool // strings in base64, so that bytes that are not UTF-8 are preserved
	resp2  bool // the bytes of the wire protocol
}

// readFormat reads the requested format. Base64 is for binary data in JSON; RESP2 does
// not need it, so both together are refused.
func readFormat(h http.Header) (format, error) {
	var f format
	switch v := h.Get("Svc-Encoding"); v {
	case "":
	case "base64":
		f.base64 = true
	default:
		return f, fmt.Errorf("ERR encoding %q: must be base64", v)
	}
	switch v := h.Get("Svc-Response-Format"); {
	case v == "" || v == "json":
	case v != "resp2":
		return f, fmt.Errorf("ERR response format %q: must be json or resp2", v)
	case f.base64:
		return f, fmt.Errorf("ERR response format %q does not go together with the encoding base64", v)
	default:
		f.resp2 = true
	}
	return f, nil
}

// write sends the replies. Only a request that failed as a whole has an error status:
// clients discard all results of a list unless the status is 2xx.
func (f format) write(w http.ResponseWriter, k kind, replies []any) {
	var whole any = replies
	if _, failed := firstReply(replies).(failure); k == singleRequest || k == transactionRequest && failed && len(replies) == 1 {
		whole = firstReply(replies)
	}
	code, kindOfBody := http.StatusOK, "application/json"
	if _, failed := whole.(failure); failed {
		code = http.StatusBadRequest
	}
	var body []byte
	if f.resp2 {
		kindOfBody, body = "application/octet-stream", appendReply(nil, whole)
	} else {
		body = f.json(k, whole)
	}
	w.Header().Set("Content-Type", kindOfBody)
	w.WriteHeader(code)
	_, _ = w.Write(body) // the client may have disconnected
}

func firstReply(replies []any) any {
	if len(replies) == 0 {
		return nil
	}
	return replies[0]
}

// json encodes the reply, or each of several, in an envelope.
func (f format) json(k kind, whole any) []byte {
	var document any
	if list, ok := whole.([]any); ok && k != singleRequest {
		each := make([]any, len(list))
		for i, reply := range list {
			each[i] = f.envelope(reply)
		}
		document = each
	} else {
		document = f.envelope(whole)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(document) // numbers, strings and lists always encode
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// envelope is the JSON object of a reply: its member is result or error, never both.
func (f format) envelope(reply any) any {
	if text, failed := reply.(failure); failed {
		return fault{string(text)}
	}
	return result{f.plain(reply)}
}

// plain converts a reply to a value for JSON. With base64, all strings are encoded
// except the status OK and error texts.
func (f format) plain(reply any) any {
	switch v := reply.(type) {
	case status:
		if v == "OK" {
			return "OK"
		}
		return f.plain(string(v))
	case string:
		if f.base64 {
			return base64.StdEncoding.EncodeToString([]byte(v))
		}
		return v
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = f.plain(v[i])
		}
		return out
	case failure:
		return string(v)
	}
	return reply
}

// appendReply writes a reply in RESP2.
func appendReply(b []byte, reply any) []byte {
	switch v := reply.(type) {
	case status:
		return append(append(append(b, '+'), v...), "\r\n"...)
	case failure:
		return append(append(append(b, '-'), v...), "\r\n"...)
	case int64:
		return append(strconv.AppendInt(append(b, ':'), v, 10), "\r\n"...)
	case string:
		b = append(strconv.AppendInt(append(b, '$'), int64(len(v)), 10), "\r\n"...)
		return append(append(b, v...), "\r\n"...)
	case []any:
		b = append(strconv.AppendInt(append(b, '*'), int64(len(v)), 10), "\r\n"...)
		for _, item := range v {
			b = appendReply(b, item)
		}
		return b
	}
	return append(b, "$-1\r\n"...)
}

// readReply reads one reply of the library, in RESP2.
func readReply(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errors.New("empty line")
	}
	kind, text := line[0], line[1:]
	switch kind {
	case '+':
		return status(text), nil
	case '-':
		return failure(text), nil
	case ':':
		return strconv.ParseInt(text, 10, 64)
	case '$', '*':
	default:
		return nil, fmt.Errorf("reply of unknown kind %q", kind)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return nil, err // a negative length means null
	}
	if kind == '$' {
		body := make([]byte, n+len("\r\n"))
		_, err := io.ReadFull(r, body)
		return string(body[:n]), err
	}
	list := make([]any, n)
	for i := range list {
		if list[i], err = readReply(r); err != nil {
			return nil, err
		}
	}
	return list, nil
}
