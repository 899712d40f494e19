package vector

import (
	"slices"
	"strings"
	"time"
)

type namespace struct {
	vectors map[string]*Vector
	order   []string  // ids in the order of insertion
	waiting []*Vector // not ready at the latest change, by time
	size    int64
}

func newNamespace() *namespace { return &namespace{vectors: map[string]*Vector{}} }

// vectorCost is the memory of a vector besides its parts, in bytes.
const vectorCost = 300

// Bytes is the approximate memory of these vectors in an index.
func Bytes(vectors []Vector) int64 {
	n := int64(0)
	for i := range vectors {
		n += vectorCost + vectors[i].size()
	}
	return n
}

// bytes is the memory of the vectors of the namespace.
func (n *namespace) bytes() int64 { return n.size + vectorCost*int64(len(n.vectors)) }

// pending calls visit for the vectors that are not ready, in the order of their change.
func (n *namespace) pending(now time.Time, visit func(*Vector)) {
	for _, v := range n.waiting {
		if n.vectors[v.ID] == v && v.ready.After(now) {
			visit(v)
		}
	}
}

func (n *namespace) count(now time.Time) Count {
	c := Count{Ready: len(n.vectors)}
	n.pending(now, func(v *Vector) {
		c.Pending++
		if v.at(now) == nil {
			c.Ready--
		}
	})
	return c
}

func (v *Vector) size() int64 {
	n := len(v.ID) + 4*len(v.Values) + len(v.Metadata)
	if v.Sparse != nil {
		n += 8 * len(v.Sparse.Indices)
	}
	if v.Data != nil {
		n += len(*v.Data)
	}
	total := int64(n)
	for i := range v.earlier {
		total += v.earlier[i].size()
	}
	return total
}

// put stores a vector. It replaces the one with the same id, which queries find until the
// new one is ready.
func (n *namespace) put(v *Vector, now, ready time.Time) {
	if old := n.vectors[v.ID]; old != nil {
		n.take(old)
		if ready.After(now) {
			v.earlier = old.versions(now)
		}
	} else {
		n.order = append(n.order, v.ID)
	}
	v.ready = ready
	v.Sparse = v.Sparse.summed()
	n.vectors[v.ID] = v
	n.size += v.size()
	for len(n.waiting) > 0 && !n.waiting[0].ready.After(now) {
		n.waiting[0] = nil
		n.waiting = n.waiting[1:]
	}
	if ready.After(now) {
		n.waiting = append(n.waiting, v)
	}
}

// maxVersions limits the versions of a vector besides the latest one.
const maxVersions = 16

// versions returns the versions that queries find now or later, latest first. Beyond
// maxVersions, the latest is left out.
func (v *Vector) versions(now time.Time) []Vector {
	all := append([]Vector{*v}, v.earlier...)
	all[0].earlier = nil
	if i := slices.IndexFunc(all, func(was Vector) bool { return !was.ready.After(now) }); i >= 0 {
		all = all[:i+1]
	}
	return all[max(0, len(all)-maxVersions):]
}

// take removes a vector from the size and the map, but not from the order.
func (n *namespace) take(v *Vector) {
	n.size -= v.size()
	delete(n.vectors, v.ID)
}

// remove removes vectors by id and returns how many were removed.
func (n *namespace) remove(ids []string) (deleted int) {
	for _, id := range ids {
		if v := n.vectors[id]; v != nil {
			n.take(v)
			deleted++
		}
	}
	if deleted > 0 {
		n.order = slices.DeleteFunc(n.order, func(id string) bool { return n.vectors[id] == nil })
	}
	return deleted
}

func (n *namespace) withPrefix(prefix string) []string {
	var ids []string
	for _, id := range n.order {
		if strings.HasPrefix(id, prefix) {
			ids = append(ids, id)
		}
	}
	return ids
}
