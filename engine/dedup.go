package engine

import (
	"crypto/sha256"
	"time"
)

// dedupWindow is how long a message keeps others like it away (decided: 39). It
// ends exactly that long after the first was accepted.
const dedupWindow = 10 * time.Minute

// dedup remembers what was published within the window.
type dedup struct {
	first map[string]mark
	order fifo[mark]
}

type mark struct {
	key, id string
	until   time.Time
}

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
		for _, part := range []string{opts.Method, r.Group, e.URL, headerKey(forward)} {
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
		if m, ok := a.dedup.first[key]; ok && m.until.After(a.now) {
			return m.id, true
		}
	}
	return "", false
}

// forgetMarks lets go of what was published before the window.
func (a *Account) forgetMarks() {
	d := &a.dedup
	for d.order.len() > 0 && !d.order.items[d.order.head].until.After(a.now) {
		old := d.order.pop()
		a.addWork(-old.weight())
		if d.first[old.key].until.Equal(old.until) {
			delete(d.first, old.key)
		}
	}
}

// expiredMarks is the bytes that forgetMarks frees.
func (a *Account) expiredMarks() (bytes int64) {
	d := &a.dedup
	for _, m := range d.order.items[d.order.head:] {
		if m.until.After(a.now) {
			break
		}
		bytes += m.weight()
	}
	return bytes
}

// remember makes id the first message under the keys.
func (a *Account) remember(keys []string, id string) {
	a.forgetMarks()
	d := &a.dedup
	for _, key := range keys {
		if d.first == nil {
			d.first = map[string]mark{}
		}
		m := mark{key, id, a.now.Add(dedupWindow)}
		d.first[key] = m
		d.order.push(m)
		a.addWork(m.weight())
	}
}
