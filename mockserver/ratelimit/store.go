package ratelimit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine/ratelimit"
)

// maxReply is how many bytes of the store's answer are read; a few numbers are
// expected.
const maxReply = 64 << 10

// store is the key-value REST interface that keeps the counters.
type store struct {
	url, token string
	client     *http.Client
}

// Eval runs a script by its hash; a store that does not know it gets the text.
func (s store) Eval(ctx context.Context, script ratelimit.Script, keys, args []string) ([]int64, error) {
	reply, err := s.command(ctx, "EVALSHA", script.SHA, keys, args)
	if err != nil && strings.Contains(err.Error(), "NOSCRIPT") {
		return s.command(ctx, "EVAL", script.Text, keys, args)
	}
	return reply, err
}

func (s store) command(ctx context.Context, name, script string, keys, args []string) ([]int64, error) {
	command := append([]string{name, script, strconv.Itoa(len(keys))}, keys...)
	body, err := json.Marshal(append(command, args...))
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it has been read
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxReply))
	if err != nil {
		return nil, err
	}
	return readNumbers(answer.StatusCode, text)
}

// readNumbers reads the store's answer: a list of whole numbers as result.
func readNumbers(status int, text []byte) ([]int64, error) {
	var answer struct {
		Result []int64 `json:"result"`
		Error  string  `json:"error"`
	}
	err := json.Unmarshal(text, &answer)
	switch {
	case answer.Error != "":
		return nil, fmt.Errorf("the store answers %d: %s", status, answer.Error)
	case status != http.StatusOK:
		return nil, fmt.Errorf("the store answers %d: %.80q", status, text)
	case err != nil:
		return nil, fmt.Errorf("the store's answer %.80q is not a list of whole numbers: %w", text, err)
	}
	return answer.Result, nil
}
