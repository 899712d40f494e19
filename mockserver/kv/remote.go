package kv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// remote is a real server of the same commands.
type remote struct {
	client *redis.Client
	prefix string // in front of all keys
}

// silent keeps the library from writing to the standard error of whoever runs
// this: what fails becomes a reply.
type silent struct{}

// Printf drops a line.
func (silent) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(silent{}) }

// newRemote prepares the connections; they are made when they are needed.
func newRemote(url, prefix string) (*remote, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("kv: URL %q: must be redis://[user:password@]host:port[/db], rediss:// or unix://: %w", url, err)
	}
	options.Protocol = 2 // RESP3 has maps, which the interface answers flat
	options.DisableIdentity = true
	options.MaxRetries = -1 // a command that was lost on the way may have been run
	options.DialerRetries = 1
	return &remote{redis.NewClient(options), prefix}, nil
}

func (r *remote) close() error { return r.client.Close() }

// ping reports whether the server answers.
func (r *remote) ping(ctx context.Context) error {
	if err := r.client.Ping(ctx).Err(); err != nil {
		return errors.New(r.silence(err))
	}
	return nil
}

// silence says that the server does not answer, and where it should be.
func (r *remote) silence(err error) string {
	return fmt.Sprintf("the key-value server at %s does not answer: %v", r.client.Options().Addr, err)
}

// run sends commands in one go.
func (r *remote) run(ctx context.Context, commands [][]string) []any {
	return r.execute(ctx, r.client.Pipeline(), commands)
}

// transact sends commands between MULTI and EXEC.
func (r *remote) transact(ctx context.Context, commands [][]string) []any {
	for _, command := range commands {
		if _, ok := r.whole(command); ok {
			return []any{failure("EXECABORT Transaction discarded: " + strings.ToUpper(command[0]) + " is not available in a transaction on a shared server")}
		}
		if _, ok := prefixCommand(r.prefix, command); r.prefix != "" && !ok {
			return []any{failure(fmt.Sprintf("ERR Command is not available: '%s'", strings.ToUpper(command[0])))}
		}
	}
	replies := r.execute(ctx, r.client.TxPipeline(), commands)
	for _, reply := range replies {
		if text, failed := reply.(failure); failed && strings.HasPrefix(string(text), "EXECABORT") {
			return []any{text}
		}
	}
	return replies
}

// whole is how a command about all keys is answered for those with the prefix.
func (r *remote) whole(command []string) (answer func(ctx context.Context) any, ok bool) {
	if r.prefix == "" {
		return nil, false
	}
	switch strings.ToUpper(command[0]) {
	case "DBSIZE":
		return func(ctx context.Context) any {
			count := int64(0)
			err := r.each(ctx, func(keys []string) error { count += int64(len(keys)); return nil })
			return r.neutral(count, err)
		}, true
	case "FLUSHALL", "FLUSHDB":
		return func(ctx context.Context) any { return r.neutral("OK", r.clear(ctx)) }, true
	}
	return nil, false
}

// clear removes all keys with the prefix.
func (r *remote) clear(ctx context.Context) error {
	return r.each(ctx, func(keys []string) error { return r.client.Unlink(ctx, keys...).Err() })
}

// each calls f with the keys that have the prefix, some at a time.
func (r *remote) each(ctx context.Context, f func(keys []string) error) error {
	const batch = 1000
	for cursor := uint64(0); ; {
		keys, next, err := r.client.Scan(ctx, cursor, globQuoted(r.prefix)+"*", batch).Result()
		if err == nil && len(keys) > 0 {
			err = f(keys)
		}
		if err != nil || next == 0 {
			return err
		}
		cursor = next
	}
}

// execute sends what is queued. Each command has its own outcome, so the
// common error says nothing more.
func (r *remote) execute(ctx context.Context, p redis.Pipeliner, commands [][]string) []any {
	sent, replies := make([]*redis.Cmd, len(commands)), make([]any, len(commands))
	for i, command := range commands {
		if answer, ok := r.whole(command); ok {
			replies[i] = answer(ctx)
			continue
		}
		with, ok := prefixCommand(r.prefix, command)
		if r.prefix == "" {
			with, ok = command, true
		}
		if !ok {
			replies[i] = failure(fmt.Sprintf("ERR Command is not available: '%s'", strings.ToUpper(command[0])))
			continue
		}
		arguments := make([]any, len(with))
		for j, argument := range with {
			arguments[j] = argument
		}
		sent[i] = p.Do(ctx, arguments...)
	}
	_, _ = p.Exec(ctx)
	for i, command := range sent {
		if command != nil {
			value, err := command.Result()
			replies[i] = stripPrefix(r.prefix, commands[i], r.neutral(value, err))
		}
	}
	return replies
}

// neutral makes a value of the client library one of ours.
func (r *remote) neutral(value any, err error) any {
	var answered redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return nil
	case errors.As(err, &answered):
		return failure(answered.Error())
	case err != nil:
		return outage("ERR " + r.silence(err))
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
			v[i] = r.neutral(v[i], nested)
		}
		return v
	case nil, int64:
		return v
	}
	return fmt.Sprint(value)
}
