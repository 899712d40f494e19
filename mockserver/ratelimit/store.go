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

// maxReply is how many bytes of the store's answer are read; it should be a few
// numbers.
const maxReply = 64 << 10

// store is a client of the key-value REST interface that keeps the counters.
type store struct {
	url, token string
	client     *http.Client
	clock      *clock
}

// Eval runs a script by its hash, and sends the text if the store has not cached it.
func (s store) Eval(ctx context.Context, script ratelimit.Script, keys, args []string) ([]int64, error) {
	reply, err := s.command(ctx, "EVALSHA", script.SHA, keys, args)
	if err != nil && strings.Contains(err.Error(), "NOSCRIPT") {
		return s.command(ctx, "EVAL", script.Text, keys, args)
	}
	return reply, err
}

func (s store) command(ctx context.Context, name, script string, keys, args []string) ([]int64, error) {
	command := append([]string{name, script, strconv.Itoa(len(keys))}, keys...)
	return s.numbers(ctx, append(command, args...))
}

// numbers runs a command whose answer is a list of whole numbers.
func (s store) numbers(ctx context.Context, command []string) ([]int64, error) {
	body, err := json.Marshal(command)
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
	defer func() { _ = answer.Body.Close() }() // only read
	s.clock.learn(answer.Header)
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxReply))
	if err != nil {
		return nil, err
	}
	return readNumbers(answer.StatusCode, text)
}

// readNumbers parses the store's answer, whose result is a list of whole numbers.
func readNumbers(status int, text []byte) ([]int64, error) {
	var answer struct {
		Result []number `json:"result"`
		Error  string   `json:"error"`
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
	numbers := make([]int64, len(answer.Result))
	for i, n := range answer.Result {
		numbers[i] = int64(n)
	}
	return numbers, nil
}

// number is a whole number, or a text with one, as in the answer to TIME.
type number int64

// UnmarshalJSON reads either form.
func (n *number) UnmarshalJSON(text []byte) error {
	i, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
	*n = number(i)
	return err
}
