package engine

import (
	"crypto/sha256"
	"maps"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// dedupWindow is how long after a message its duplicates are not delivered (decided: 39). It
// begins when the first message is accepted; duplicates do not extend it.
const dedupWindow = 10 * time.Minute

// dedupKeys are the keys that duplicates of a message share: its deduplication
// id, its content, or both. An id applies to all destinations, content to one
// destination only. Each endpoint of a group has its own keys.
func dedupKeys(r *PublishRequest, e Endpoint, opts *Options, headers state.HeaderPair) []string {
	var keys []string
	if opts.DedupID != "" {
		key := "id\x00" + opts.DedupID
		if r.Group != "" {
			key += "\x00" + r.Group + "\x00" + e.URL
		}
		keys = append(keys, key)
	}
	if opts.DedupContent {
		h := sha256.New()
		for _, part := range []string{opts.Method, r.Group, e.URL, state.HeaderKey(headers.Forward().Header())} {
			h.Write([]byte(part))
			h.Write([]byte{0})
		}
		h.Write(r.Body)
		keys = append(keys, "content\x00"+string(h.Sum(nil)))
	}
	return keys
}

// seen is the id of the first message under any of the keys.
func (a *Account) seen(keys []string) (string, bool) {
	for _, key := range keys {
		if m, ok := a.state.Dedup.First[key]; ok && m.Until.After(a.state.Now) {
			return m.ID, true
		}
	}
	return "", false
}

// forgetMarks removes the keys of messages that were published before the window.
func (a *Account) forgetMarks() {
	d := &a.state.Dedup
	for d.Order.Len() > 0 && !d.Order.Items[d.Order.Head].Until.After(a.state.Now) {
		old := d.Order.Pop()
		a.addWork(-old.Weight())
		if d.First[old.Key].Until.Equal(old.Until) {
			delete(d.First, old.Key)
		}
	}
}

// expiredMarks is how many bytes forgetMarks frees.
func (a *Account) expiredMarks() (bytes int64) {
	d := &a.state.Dedup
	for _, m := range d.Order.Items[d.Order.Head:] {
		if m.Until.After(a.state.Now) {
			break
		}
		bytes += m.Weight()
	}
	return bytes
}

// remember makes id the first message under the keys.
func (a *Account) remember(keys []string, id string) {
	a.forgetMarks()
	d := &a.state.Dedup
	for _, key := range keys {
		if d.First == nil {
			d.First = map[string]state.DedupMark{}
		}
		m := state.DedupMark{Key: key, ID: id, Until: a.state.Now.Add(dedupWindow)}
		d.First[key] = m
		d.Order.Push(m)
		a.addWork(m.Weight())
	}
}

// rekey computes the keys of a snapshot again from its messages. An exported
// snapshot has placeholders instead of secrets, so that its messages have other
// keys than those saved; for any other snapshot nothing changes.
func (a *Account) rekey() {
	d, known := &a.state.Dedup, map[string]*Message{}
	for _, e := range a.state.Log.Created {
		known[e.Message.ID] = e.Message
	}
	maps.Copy(known, a.state.Messages)
	marks := d.Order.Items[d.Order.Head:]
	for i := range marks {
		m := known[marks[i].ID]
		if m == nil || m.Dropped > 0 {
			continue
		}
		kind, _, _ := strings.Cut(marks[i].Key, "\x00")
		for _, key := range dedupKeys(&PublishRequest{Group: m.Group, Body: m.Body}, Endpoint{URL: m.URL}, m.Options, m.Headers) {
			if !strings.HasPrefix(key, kind+"\x00") || key == marks[i].Key {
				continue
			}
			if d.First[marks[i].Key].ID == m.ID {
				delete(d.First, marks[i].Key)
				d.First[key] = state.DedupMark{Key: key, ID: m.ID, Until: marks[i].Until}
			}
			marks[i].Key = key
		}
	}
}
