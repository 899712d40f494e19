package kv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// remote is a real server of the same commands.
type remote struct{ client *redis.Client }

// silent keeps the library from writing to the standard error of whoever runs
// this: what fails becomes a reply.
type silent struct{}

// Printf drops a line.
func (silent) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(silent{}) }

// newRemote prepares the connections; they are made when they are needed.
func newRemote(url string) (*remote, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("kv: URL %q: accepted is redis://[user:password@]host:port[/db], rediss:// or unix://: %w", url, err)
	}
	options.Protocol = 2 // RESP3 has maps, which the interface answers flat
	options.DisableIdentity = true
	options.MaxRetries = -1 // a command that was lost on the way may have been run
	options.DialerRetries = 1
	return &remote{redis.NewClient(options)}, nil
}

func (r *remote) close() error { return r.client.Close() }

// run sends commands in one go.
func (r *remote) run(ctx context.Context, commands [][]string) []any {
	return execute(ctx, r.client.Pipeline(), commands)
}

// transact sends commands between MULTI and EXEC.
func (r *remote) transact(ctx context.Context, commands [][]string) []any {
	replies := execute(ctx, r.client.TxPipeline(), commands)
	for _, reply := range replies {
		if text, failed := reply.(failure); failed && strings.HasPrefix(string(text), "EXECABORT") {
			return []any{text}
		}
	}
	return replies
}

// execute sends what is queued. Each command has its own outcome, so the
// common error says nothing more.
func execute(ctx context.Context, p redis.Pipeliner, commands [][]string) []any {
	sent := make([]*redis.Cmd, len(commands))
	for i, command := range commands {
		arguments := make([]any, len(command))
		for j, argument := range command {
			arguments[j] = argument
		}
		sent[i] = p.Do(ctx, arguments...)
	}
	_, _ = p.Exec(ctx)
	replies := make([]any, len(sent))
	for i, command := range sent {
		value, err := command.Result()
		replies[i] = neutral(value, err)
	}
	return replies
}

// neutral makes a value of the client library one of ours.
func neutral(value any, err error) any {
	var answered redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return nil
	case errors.As(err, &answered):
		return failure(answered.Error())
	case err != nil:
		return failure("ERR the store does not answer: " + err.Error())
	}
	switch v := value.(type) {
	case string:
		if v == "OK" { // the library does not tell a status from a string
			return status(v)
		}
		return v
	case []any:
		for i := range v {
			nested, _ := v[i].(error)
			v[i] = neutral(v[i], nested)
		}
		return v
	case nil, int64:
		return v
	}
	return fmt.Sprint(value)
}
