package engine

import (
	"crypto/sha256"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// dedupWindow is how long a message keeps others like it away (decided: 39). It
// ends exactly that long after the first was accepted.
const dedupWindow = 10 * time.Minute

// dedupKeys are the names under which a message is known: its id, its content,
// or both. An id counts across destinations; content only for one destination.
// Each endpoint of a group counts for itself.
func dedupKeys(r *PublishRequest, e Endpoint, opts *Options, forward Header) []string {
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
		for _, part := range []string{opts.Method, r.Group, e.URL, state.HeaderKey(forward)} {
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

// forgetMarks lets go of what was published before the window.
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

// expiredMarks is the bytes that forgetMarks frees.
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
