// Package jetstream keeps journals in an existing NATS JetStream cluster that several servers
// share. One server owns an account at a time: each append names the expected last message of the
// account, so that the cluster refuses the appends of an owner that was replaced.
//
// One stream has a subject per account; a message is a group of records. A key-value bucket has
// the about data of each account and the name of its snapshot; an object store has the snapshots.
package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/store"
)

// Config describes the cluster. Servers is required.
type Config struct {
	Servers  string        // nats://A,B,C
	Prefix   string        // of subjects, stream and buckets; "": understudy
	Replicas int           // 0: 3 if the cluster has at least 3 servers, otherwise 1
	MaxBytes int64         // of the journals; 0: 16 GiB
	Name     string        // first part of the id of this process; "": the host name
	Log      *slog.Logger  // nil: no logs
	Timeout  time.Duration // of a commit; 0: 10 s
}

const (
	defaultPrefix   = "understudy"
	defaultMaxBytes = 16 << 30
	defaultTimeout  = 10 * time.Second
	// askTimeout limits one request to the cluster; a request without an answer is repeated.
	askTimeout    = 2 * time.Second
	reconnectWait = 250 * time.Millisecond
	pingInterval  = time.Second
	// idLetters is the number of random letters at the end of an id.
	idLetters = 10
)

// Store is a connection to a cluster.
type Store struct {
	cfg       Config
	conn      *nats.Conn
	js        jetstream.JetStream
	stream    jetstream.Stream
	accounts  jetstream.KeyValue
	snapshots jetstream.ObjectStore
	entries   jetstream.Stream // the stream of the bucket accounts
	objects   jetstream.Stream // the stream of the object store snapshots
	replicas  int              // of streams and buckets

	ctx     context.Context // ends with the store
	stop    context.CancelFunc
	writers sync.WaitGroup

	mu    sync.Mutex
	logs  map[string]*Log
	stats store.Stats
}

// wall is the clock for measuring durations.
var wall = clock.NewReal()

// Open connects to a cluster, and creates the stream and the buckets if they do not exist.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Prefix == "" {
		cfg.Prefix = defaultPrefix
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = defaultMaxBytes
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Name == "" {
		cfg.Name, _ = os.Hostname() // "" is fine too
	}
	cfg.Name += "-" + strings.ToLower(rand.Text()[:idLetters]) // ids of owners must be unique
	s := &Store{cfg: cfg, logs: map[string]*Log{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	var err error
	s.conn, err = nats.Connect(cfg.Servers, nats.Name("understudy "+cfg.Name), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.Timeout(askTimeout),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(2)) // reconnects to another server if one hangs
	if err == nil {
		s.js, err = jetstream.New(s.conn, jetstream.WithDefaultTimeout(askTimeout))
	}
	if err == nil {
		err = s.patiently(ctx, s.prepare)
	}
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
		err = fmt.Errorf("%w: start the servers with --jetstream", err)
	}
	if errors.Is(err, nats.ErrNoResponders) {
		err = fmt.Errorf("%w: its servers run without --jetstream, or have not elected a leader in %v", err, startWithin)
	}
	if err != nil {
		if s.conn != nil {
			s.conn.Close()
		}
		s.stop()
		return nil, fmt.Errorf("data in %s: %w", cfg.Servers, err)
	}
	s.writers.Go(s.markAlways)
	s.writers.Go(s.sweepAlways)
	return s, nil
}

// startWithin is how long a cluster may take to create the streams: servers must elect a
// leader for each.
const (
	startWithin = 30 * time.Second
	startPause  = 200 * time.Millisecond // minimum; random up to twice as long, because other servers may start too
	// triesInSilence is how often a start may fail without a line in the log.
	triesInSilence = 5
)

// patiently repeats a request until the cluster answers it.
func (s *Store) patiently(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for tries := 1; ; tries++ {
		once, cancel := context.WithTimeout(ctx, askTimeout) // some concurrent requests are never answered
		err := ask(once)
		cancel()
		var refused *jetstream.APIError
		if err == nil || errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.As(err, &refused) && !slices.Contains(passing, refused.ErrorCode) && !errors.Is(err, jetstream.ErrBucketExists) {
			return err
		}
		level := slog.LevelDebug
		if tries == triesInSilence {
			level = slog.LevelInfo
		}
		s.cfg.Log.Log(ctx, level, "the cluster has not answered yet: waiting", "atMost", startWithin, "error", err)
		if clock.Pause(ctx, startPause+time.Duration(mathrand.Int64N(int64(startPause)))) != nil {
			return err
		}
	}
}

// prepare finds or creates what the store needs. It refuses a stream that may discard messages.
func (s *Store) prepare(ctx context.Context) error {
	if s.replicas = s.cfg.Replicas; s.replicas == 0 {
		s.replicas = 1
		if len(s.conn.Servers()) >= 3 {
			s.replicas = 3
		}
	}
	name := strings.ToUpper(s.cfg.Prefix)
	var err error
	if s.stream, err = s.js.Stream(ctx, name); errors.Is(err, jetstream.ErrStreamNotFound) {
		err = s.create(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("stream %s: %w", name, err)
	}
	if info := s.stream.CachedInfo(); info.Config.Discard != jetstream.DiscardNew {
		return fmt.Errorf("stream %s: discards old messages, which are journals: must be of discard policy new", name)
	}
	if s.accounts, err = s.bucket(ctx, jetstream.KeyValueConfig{Bucket: s.cfg.Prefix + "-accounts", Replicas: s.replicas, Storage: jetstream.FileStorage, MaxValueSize: -1}); err != nil {
		return err
	}
	name = s.bucketOfSnapshots()
	if s.snapshots, err = s.js.ObjectStore(ctx, name); errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		s.snapshots, err = s.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, Replicas: s.replicas, Storage: jetstream.FileStorage})
	}
	if err == nil {
		s.objects, err = s.led(ctx, "OBJ_"+name)
	}
	if err != nil {
		return fmt.Errorf("object store %s: %w", name, err)
	}
	s.entries, err = s.led(ctx, "KV_"+s.accounts.Bucket())
	return err
}

// bucketOfSnapshots is the name of the object store of the snapshots.
func (s *Store) bucketOfSnapshots() string { return s.cfg.Prefix + "-snapshots" }

// led returns a stream whose messages are read from its leader. If a stream allows direct
// access, as buckets do, the client library reads from any server, which may be behind or
// hang; so led clears that flag in the cached description.
func (s *Store) led(ctx context.Context, name string) (jetstream.Stream, error) {
	stream, err := s.js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	stream.CachedInfo().Config.AllowDirect = false
	return stream, nil
}

// bucket opens a bucket, or creates it. It looks first, because concurrent creation by
// several servers is slow.
func (s *Store) bucket(ctx context.Context, cfg jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	kv, err := s.js.KeyValue(ctx, cfg.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = s.js.CreateKeyValue(ctx, cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", cfg.Bucket, err)
	}
	return kv, nil
}

// minBytes is the smallest size of the journals. Servers reserve the size of a stream; if
// they have no room for it, create tries again with the size divided by lessBytes.
const (
	minBytes  = 64 << 20
	lessBytes = 4
)

// create creates the stream of the journals.
func (s *Store) create(ctx context.Context, name string) (err error) {
	for size := s.cfg.MaxBytes; ; size /= lessBytes {
		s.stream, err = s.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Subjects: []string{s.cfg.Prefix + ".*.log"}, Storage: jetstream.FileStorage, Replicas: s.replicas,
			Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, MaxBytes: size, DenyDelete: true,
			Description: "journals of accounts; each message is a group of records",
		})
		var refused *jetstream.APIError
		full := errors.As(err, &refused) && (refused.ErrorCode == noStorage || refused.ErrorCode == noPeers)
		switch {
		case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse): // another server was faster
			s.stream, err = s.js.Stream(ctx, name)
			return err
		case full && size/lessBytes >= minBytes:
			continue
		case full:
			return fmt.Errorf("%w: the servers of the cluster must have more room (max_file_store), or more of them", err)
		case err == nil && size < s.cfg.MaxBytes:
			s.cfg.Log.Warn("the cluster has little room for journals", "stream", name, "bytes", size, "wanted", s.cfg.MaxBytes)
		}
		return err
	}
}

// Error codes of servers without room for a stream, which the client library does not define.
const (
	noPeers   = 10005
	noStorage = 10047
)

// passing are the error codes of a cluster that has no leader yet, or whose streams other
// servers are creating. Sorted.
var passing = []jetstream.ErrorCode{10008, 10049, jetstream.JSErrCodeStreamNameInUse, jetstream.JSErrCodeStreamNotFound}

// ID is the unique id of this process.
func (s *Store) ID() string { return s.cfg.Name }

// Directory is the bucket with an entry for each account, see Entry.
func (s *Store) Directory() jetstream.KeyValue { return s.accounts }

// Entry decodes an entry of the directory: an account and its about data.
func Entry(e jetstream.KeyValueEntry) (account string, about []byte, err error) {
	account, ok := AccountOf(e.Key())
	if !ok {
		return "", nil, fmt.Errorf("entry %q: %w", e.Key(), store.ErrDamaged)
	}
	var in entry
	if err := json.Unmarshal(e.Value(), &in); err != nil {
		return "", nil, fmt.Errorf("entry of account %q: %w: %w", account, store.ErrDamaged, err)
	}
	return account, in.About, nil
}

// Bucket opens or creates another key-value bucket in the cluster. Its entries expire after
// ttl; 0: never.
func (s *Store) Bucket(ctx context.Context, name string, ttl time.Duration) (jetstream.KeyValue, error) {
	cfg := jetstream.KeyValueConfig{Bucket: s.cfg.Prefix + "-" + name, Replicas: s.replicas, Storage: jetstream.FileStorage, TTL: ttl}
	if ttl > 0 {
		cfg.LimitMarkerTTL = time.Second
	}
	var kv jetstream.KeyValue
	err := s.patiently(ctx, func(ctx context.Context) (err error) {
		kv, err = s.bucket(ctx, cfg)
		return err
	})
	return kv, err
}

// Key encodes an account for use in subjects and keys.
func Key(account string) string { return "a" + hex.EncodeToString([]byte(account)) }

// AccountOf decodes a key.
func AccountOf(key string) (string, bool) {
	text, ok := strings.CutPrefix(key, "a")
	id, err := hex.DecodeString(text)
	return string(id), ok && err == nil
}

// Accounts returns the ids of all accounts, sorted.
func (s *Store) Accounts(ctx context.Context) ([]string, error) {
	keys, err := s.accounts.Keys(ctx)
	if errors.Is(err, jetstream.ErrNoKeysFound) {
		return []string{}, nil
	}
	if err != nil {
		return nil, err
	}
	list := make([]string, 0, len(keys))
	for _, k := range keys {
		if id, ok := AccountOf(k); ok {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list, nil
}

// Stats returns what this process has done.
func (s *Store) Stats() store.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Behind = map[string]store.Behind{}
	for id, l := range s.logs {
		out.Behind[id] = l.behind()
	}
	return out
}

// Close writes outstanding records, releases the accounts and closes the connection.
func (s *Store) Close() error {
	s.mu.Lock()
	logs := s.logs
	s.logs = map[string]*Log{}
	s.mu.Unlock()
	var err error
	for _, l := range logs {
		err = errors.Join(err, l.Close())
	}
	s.stop()
	s.writers.Wait()
	s.conn.Close()
	return err
}
