package vector

import (
	"fmt"
	"time"
)

// Saved is an index as a snapshot keeps it: everything but its open queries.
type Saved struct {
	Config
	Namespaces []SavedNamespace // in the order of their first upsert
}

// SavedNamespace is a namespace of a saved index.
type SavedNamespace struct {
	Name    string
	Vectors []SavedVector // in the order of insertion
	Pending []string      // ids, in the order of their change
}

// SavedVector is a vector and the time from which on it is found.
type SavedVector struct {
	Vector
	Ready time.Time
}

// Save is the index as a snapshot keeps it.
func (x *Index) Save(now time.Time) Saved {
	s := Saved{Config: x.Config}
	for _, name := range x.order {
		s.Namespaces = append(s.Namespaces, x.namespaces[name].saved(name, now))
	}
	return s
}

func (n *namespace) saved(name string, now time.Time) SavedNamespace {
	s := SavedNamespace{Name: name}
	for _, id := range n.order {
		if v := n.vectors[id]; v != nil {
			s.Vectors = append(s.Vectors, SavedVector{*v, v.ready})
		}
	}
	n.pending(now, func(v *Vector) { s.Pending = append(s.Pending, v.ID) })
	return s
}

// Load is the index that was saved, or why it cannot be one.
func Load(s Saved) (*Index, error) {
	x := &Index{Config: s.Config, namespaces: map[string]*namespace{}}
	for _, space := range s.Namespaces {
		if x.namespaces[space.Name] != nil {
			return nil, fmt.Errorf("vector index %q: namespace %q: duplicate", x.Name, space.Name)
		}
		n, err := x.load(space)
		if err != nil {
			return nil, fmt.Errorf("vector index %q: namespace %q: %w", x.Name, space.Name, err)
		}
		x.namespaces[space.Name] = n
		x.order = append(x.order, space.Name)
		x.bytes += n.bytes()
	}
	if x.namespaces[""] == nil {
		return nil, fmt.Errorf("vector index %q: the default namespace is missing", x.Name)
	}
	return x, nil
}

func (x *Index) load(s SavedNamespace) (*namespace, error) {
	n := newNamespace()
	for _, one := range s.Vectors {
		v := one.Vector
		v.ready = one.Ready
		if n.vectors[v.ID] != nil {
			return nil, fmt.Errorf("vector %q: duplicate", v.ID)
		}
		if err := x.fits(&v, x.Dimension); err != nil {
			return nil, fmt.Errorf("vector %q: %w", v.ID, err)
		}
		n.vectors[v.ID], n.order = &v, append(n.order, v.ID)
		n.size += v.size()
	}
	for _, id := range s.Pending {
		v := n.vectors[id]
		if v == nil {
			return nil, fmt.Errorf("vector %q: pending, but not found", id)
		}
		n.waiting = append(n.waiting, v)
	}
	return n, nil
}
