package vector

import (
	"fmt"
	"time"

	"github.com/understudy-mock/understudy/engine/codec"
)

// Saved is an index in a snapshot: everything except its open queries.
type Saved struct {
	Config
	Namespaces []savedNamespace // in the order of their first upsert
}

type savedNamespace struct {
	name    string
	vectors []*Vector // in the order of insertion
	pending []string  // ids, in the order of their change
}

// Save returns the index as it is now.
func (x *Index) Save(now time.Time) Saved {
	s := Saved{Config: x.Config}
	for _, name := range x.order {
		s.Namespaces = append(s.Namespaces, x.namespaces[name].saved(name, now))
	}
	return s
}

func (n *namespace) saved(name string, now time.Time) savedNamespace {
	s := savedNamespace{name: name, vectors: make([]*Vector, 0, len(n.order))}
	for _, id := range n.order {
		if v := n.vectors[id]; v != nil {
			s.vectors = append(s.vectors, v)
		}
	}
	n.pending(now, func(v *Vector) { s.pending = append(s.pending, v.ID) })
	return s
}

// savedVector is a vector in a snapshot.
type savedVector struct {
	savedVersion
	Earlier []savedVersion
}

type savedVersion struct {
	Vector
	Ready time.Time
}

// saved sets the record to a vector.
func (s *savedVector) saved(v *Vector) *savedVector {
	*s = savedVector{savedVersion{*v, v.ready}, nil}
	for i := range v.earlier {
		s.Earlier = append(s.Earlier, savedVersion{v.earlier[i], v.earlier[i].ready})
	}
	return s
}

// vector returns the vector of a record.
func (s *savedVector) vector() *Vector {
	v := s.version()
	for i := range s.Earlier {
		v.earlier = append(v.earlier, *s.Earlier[i].version())
	}
	return v
}

func (s *savedVersion) version() *Vector {
	s.ready = s.Ready
	return new(s.Vector)
}

// Members writes or reads the namespace.
func (s *savedNamespace) Members(c *codec.Codec) {
	codec.Member(c, "name", &s.name)
	codec.Section(c, "vectors", s.each, func(v *savedVector) { s.vectors = append(s.vectors, v.vector()) })
	codec.Member(c, "pending", &s.pending)
}

// each yields the records of the vectors.
func (s *savedNamespace) each(yield func(*savedVector) bool) {
	var record savedVector
	for _, v := range s.vectors {
		if !yield(record.saved(v)) {
			return
		}
	}
}

// Load returns the saved index, or an error if it is inconsistent.
func Load(s *Saved) (*Index, error) {
	x := &Index{Config: s.Config, namespaces: map[string]*namespace{}}
	for _, space := range s.Namespaces {
		if x.namespaces[space.name] != nil {
			return nil, fmt.Errorf("vector index %q: namespace %q: duplicate", x.Name, space.name)
		}
		n, err := x.load(space)
		if err != nil {
			return nil, fmt.Errorf("vector index %q: namespace %q: %w", x.Name, space.name, err)
		}
		x.namespaces[space.name] = n
		x.order = append(x.order, space.name)
		x.bytes += n.bytes()
	}
	if x.namespaces[""] == nil {
		return nil, fmt.Errorf("vector index %q: the default namespace is missing", x.Name)
	}
	return x, nil
}

func (x *Index) load(s savedNamespace) (*namespace, error) {
	n := newNamespace()
	for _, v := range s.vectors {
		if n.vectors[v.ID] != nil {
			return nil, fmt.Errorf("vector %q: duplicate", v.ID)
		}
		for _, version := range append([]Vector{*v}, v.earlier...) {
			if err := x.fits(&version, x.Dimension); err != nil {
				return nil, fmt.Errorf("vector %q: %w", v.ID, err)
			}
		}
		n.vectors[v.ID], n.order = v, append(n.order, v.ID)
		n.size += v.size()
	}
	for _, id := range s.pending {
		v := n.vectors[id]
		if v == nil {
			return nil, fmt.Errorf("vector %q: pending, but not found", id)
		}
		n.waiting = append(n.waiting, v)
	}
	return n, nil
}
