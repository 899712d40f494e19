package kv

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/understudy-mock/understudy/internal/jsonsyntax"
)

// kind is the kind of a request.
type kind int

const (
	singleRequest      kind = iota // one command
	pipelineRequest                // several, independent of each other
	transactionRequest             // several, all or nothing
)

// call is a parsed request.
type call struct {
	kind     kind
	commands [][]string
}

// readCall reads a request. The status is for the error.
func readCall(w http.ResponseWriter, r *http.Request) (call, int, error) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut:
	default:
		return call{}, http.StatusMethodNotAllowed, fmt.Errorf("ERR method %s: must be GET, HEAD, POST or PUT", r.Method)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			err = errors.New(errTooLarge)
		}
		return call{}, http.StatusBadRequest, err
	}
	path := strings.Trim(r.URL.EscapedPath(), "/")
	lists := map[string]kind{"pipeline": pipelineRequest, "multi-exec": transactionRequest}
	if kind, ok := lists[path]; ok && r.Method != http.MethodPost {
		return call{}, http.StatusMethodNotAllowed, fmt.Errorf("ERR method %s: must be POST for /%s", r.Method, path)
	} else if ok {
		commands, err := readCommands(body)
		return call{kind, commands}, http.StatusBadRequest, err
	}
	var command []string
	if path == "" {
		command, err = readCommand(body)
	} else {
		command, err = readPath(path, r.URL.RawQuery, body)
	}
	return call{singleRequest, [][]string{command}}, http.StatusBadRequest, err
}

// readPath reads /COMMAND/ARGUMENT/... A body is appended as an argument, and then
// the query as names and values.
func readPath(path, query string, body []byte) ([]string, error) {
	var command []string
	for segment := range strings.SplitSeq(path, "/") {
		argument, err := url.PathUnescape(segment)
		if err != nil {
			return nil, fmt.Errorf("ERR path segment %q: %w", segment, err)
		}
		command = append(command, argument)
	}
	if len(body) > 0 {
		command = append(command, string(body))
	}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name == "" || name == "_token" {
			continue
		}
		for _, part := range []string{name, value} {
			argument, err := url.QueryUnescape(part)
			if err != nil {
				return nil, fmt.Errorf("ERR query %q: %w", part, err)
			}
			if argument != "" {
				command = append(command, argument)
			}
		}
	}
	return command, nil
}

// readCommands reads an array of commands.
func readCommands(body []byte) ([][]string, error) {
	var items []json.RawMessage
	if err := decodeOne(body, &items); err != nil {
		return nil, fmt.Errorf("ERR body: not an array of commands: %w", err)
	}
	if len(items) == 0 {
		return nil, errors.New("ERR empty pipeline request")
	}
	commands := make([][]string, len(items))
	for i, item := range items {
		command, err := readCommand(item)
		if err != nil {
			return nil, fmt.Errorf("%w (command %d)", err, i)
		}
		commands[i] = command
	}
	return commands, nil
}

// readCommand reads one command, a JSON array. Numbers keep the digits that the
// client sent, because a float would change some, for example timestamps.
func readCommand(body []byte) ([]string, error) {
	var items []any
	if err := decodeOne(body, &items); err != nil {
		return nil, fmt.Errorf("ERR body: not a command, which is a JSON array: %w", err)
	}
	if len(items) == 0 {
		return nil, errors.New("ERR empty command")
	}
	command := make([]string, len(items))
	for i, item := range items {
		switch v := item.(type) {
		case string:
			command[i] = v
		case json.Number:
			command[i] = v.String()
		case bool, nil:
			text, _ := json.Marshal(v) // true, false, null
			command[i] = string(text)
		default:
			return nil, fmt.Errorf("ERR argument %d is an object or array: must be a string, a number, a boolean or null", i)
		}
	}
	return command, nil
}

// decodeOne reads one JSON value and nothing after it.
func decodeOne(body []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return errors.New(jsonsyntax.Explain(body, err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the array")
	}
	return nil
}
