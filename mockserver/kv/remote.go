package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// remote is a backend that uses a real server.
type remote struct {
	pool    *redis.Pool
	address string
	prefix  string // in front of all keys
}

// The timeouts and the number of connections of a real server.
const (
	dialTimeout    = 5 * time.Second
	replyTimeout   = 3 * time.Second
	idleTimeout    = 5 * time.Minute
	maxConnections = 20
)

// newRemote prepares a pool of connections, which are opened on demand.
func newRemote(text, prefix string) (*remote, error) {
	network, address, options, err := parseServer(text)
	if err != nil {
		return nil, fmt.Errorf("kv-url: invalid value %q: must be redis://[user:password@]host:port[/db], rediss:// or unix://: %w", text, err)
	}
	options = append(options, redis.DialConnectTimeout(dialTimeout), redis.DialReadTimeout(replyTimeout), redis.DialWriteTimeout(replyTimeout))
	return &remote{address: address, prefix: prefix, pool: &redis.Pool{
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, network, address, options...)
		},
		TestOnBorrowContext: func(ctx context.Context, c redis.Conn, _ time.Time) error {
			_, err := redis.DoContext(c, ctx, "PING") // test first: a command whose connection broke may have run, so none is repeated
			return err
		},
		MaxIdle:     maxConnections,
		MaxActive:   maxConnections,
		Wait:        true,
		IdleTimeout: idleTimeout,
	}}, nil
}

// parseServer reads the URL of a server.
func parseServer(text string) (network, address string, options []redis.DialOption, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", "", nil, err
	}
	database, query := strings.Trim(u.Path, "/"), u.Query()
	switch u.Scheme {
	case "unix":
		network, address, database = "unix", u.Path, query.Get("db")
		query.Del("db")
	case "redis", "rediss":
		network, address = "tcp", net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "6379"))
		options = append(options, redis.DialUseTLS(u.Scheme == "rediss"))
	default:
		return "", "", nil, fmt.Errorf("invalid scheme %q", u.Scheme)
	}
	number, err := strconv.Atoi(cmp.Or(database, "0"))
	if err != nil || number < 0 || address == "" || len(query) > 0 {
		return "", "", nil, errors.New("invalid host, path, database or option")
	}
	password, _ := u.User.Password()
	return network, address, append(options, redis.DialDatabase(number), redis.DialUsername(u.User.Username()), redis.DialPassword(password)), nil
}

func (r *remote) close() error { return r.pool.Close() }

// ping reports whether the server answers.
func (r *remote) ping(ctx context.Context) error {
	if _, err := r.do(ctx, "PING"); err != nil {
		return errors.New(r.silence(err))
	}
	return nil
}

// do sends one command.
func (r *remote) do(ctx context.Context, command string, arguments ...any) (any, error) {
	conn, err := r.pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // back into the pool
	return redis.DoContext(conn, ctx, command, arguments...)
}

// silence returns the error text for a server that does not answer, with its address.
func (r *remote) silence(err error) string {
	return fmt.Sprintf("the key-value server at %s does not answer: %v", r.address, err)
}

// run sends commands in one batch.
func (r *remote) run(ctx context.Context, commands [][]string) []any {
	return r.execute(ctx, false, commands)
}

// transact sends commands between MULTI and EXEC.
func (r *remote) transact(ctx context.Context, commands [][]string) []any {
	for _, command := range commands {
		if _, ok := r.whole(command); ok {
			return []any{failure("EXECABORT Transaction discarded: " + strings.ToUpper(command[0]) + " is not available in a transaction on a shared server")}
		}
		if _, ok := prefixCommand(r.prefix, command); !ok {
			return []any{failure(notAvailable(strings.ToUpper(command[0])))}
		}
	}
	replies := r.execute(ctx, true, commands)
	for _, reply := range replies {
		if text, failed := reply.(failure); failed && strings.HasPrefix(string(text), "EXECABORT") {
			return []any{text}
		}
	}
	return replies
}

// whole returns an implementation of a command on all keys, for the keys with the
// prefix; false if the command is none or there is no prefix.
func (r *remote) whole(command []string) (answer func(ctx context.Context) any, ok bool) {
	if r.prefix == "" {
		return nil, false
	}
	switch strings.ToUpper(command[0]) {
	case "DBSIZE":
		return func(ctx context.Context) any {
			count := int64(0)
			err := r.each(ctx, func(keys []any) error { count += int64(len(keys)); return nil })
			return r.neutral(count, err)
		}, true
	case "FLUSHALL", "FLUSHDB":
		return func(ctx context.Context) any { return r.neutral("OK", r.clear(ctx)) }, true
	}
	return nil, false
}

// clear removes all keys with the prefix.
func (r *remote) clear(ctx context.Context) error {
	return r.each(ctx, func(keys []any) error { _, err := r.do(ctx, "UNLINK", keys...); return err })
}

// each calls f with the keys that have the prefix, in batches.
func (r *remote) each(ctx context.Context, f func(keys []any) error) error {
	const batch = 1000
	for cursor := "0"; ; {
		page, err := redis.Values(r.do(ctx, "SCAN", cursor, "MATCH", globQuoted(r.prefix)+"*", "COUNT", batch))
		var keys []any
		if err == nil {
			_, err = redis.Scan(page, &cursor, &keys)
		}
		if err == nil && len(keys) > 0 {
			err = f(keys)
		}
		if err != nil || cursor == "0" {
			return err
		}
	}
}

// execute sends commands, in a transaction or independently, and returns one reply
// for each.
func (r *remote) execute(ctx context.Context, transaction bool, commands [][]string) []any {
	replies := make([]any, len(commands))
	var sent []int // their indexes in commands
	var send [][]string
	for i, command := range commands {
		if answer, ok := r.whole(command); ok {
			replies[i] = answer(ctx)
			continue
		}
		with, ok := prefixCommand(r.prefix, command)
		if !ok {
			replies[i] = failure(notAvailable(strings.ToUpper(command[0])))
			continue
		}
		sent, send = append(sent, i), append(send, with)
	}
	if transaction {
		send = append(append([][]string{{"MULTI"}}, send...), []string{"EXEC"})
	}
	values, errs := r.pipeline(ctx, send)
	if transaction {
		values, errs = transactionOutcomes(values, errs)
	}
	for j, i := range sent {
		replies[i] = stripPrefix(r.prefix, commands[i], r.neutral(values[j], errs[j]))
	}
	return replies
}

// pipeline sends commands in one batch and reads a reply to each.
func (r *remote) pipeline(ctx context.Context, commands [][]string) (values []any, errs []error) {
	values, errs = make([]any, len(commands)), make([]error, len(commands))
	conn, err := r.pool.GetContext(ctx)
	if err == nil {
		defer conn.Close() //nolint:errcheck // back into the pool
		for _, command := range commands {
			arguments := make([]any, len(command)-1)
			for i, argument := range command[1:] {
				arguments[i] = argument
			}
			if err = conn.Send(command[0], arguments...); err != nil {
				break
			}
		}
	}
	if err == nil {
		err = conn.Flush()
	}
	for i := range commands {
		if errs[i] = err; err == nil {
			values[i], errs[i] = redis.ReceiveContext(conn, ctx)
		}
	}
	return values, errs
}

// transactionOutcomes returns the outcomes of the commands between MULTI and EXEC: the
// reply to EXEC has all of them, or none.
func transactionOutcomes(values []any, errs []error) ([]any, []error) {
	last := len(values) - 1
	results, _ := values[last].([]any)
	outcomes, failures := make([]any, last-1), make([]error, last-1)
	if errs[last] != nil {
		for i := range failures {
			failures[i] = errs[last]
		}
	}
	copy(outcomes, results)
	return outcomes, failures
}

// neutral converts a value or error of the client library to a reply.
func (r *remote) neutral(value any, err error) any {
	var answered redis.Error
	switch {
	case errors.As(err, &answered):
		return failure(answered.Error())
	case err != nil:
		return outage("ERR " + r.silence(err))
	}
	switch v := value.(type) {
	case string: // a status: values are []byte in the library
		return status(v)
	case []byte:
		return string(v)
	case redis.Error:
		return failure(v.Error())
	case []any:
		for i := range v {
			v[i] = r.neutral(v[i], nil)
		}
		return v
	case nil, int64:
		return v
	}
	return fmt.Sprint(value)
}
