package vector

import (
	"fmt"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/codec"
)

// Saved is an index in a snapshot: everything except its open queries.
type Saved struct {
	Config
	namespaces []savedNamespace // in the order of their first upsert
}

type savedNamespace struct {
	name    string
	vectors []*Vector // in the order of insertion
	pending []string  // ids, in the order of their change
}

// Save returns the index as it is now, for Members.
func (x *Index) Save(now time.Time) Saved {
	s := Saved{Config: x.Config}
	for _, name := range x.order {
		s.namespaces = append(s.namespaces, x.namespaces[name].saved(name, now))
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

// Members writes or reads the index.
func (s *Saved) Members(c *codec.Codec) {
	codec.Text(c, "name", &s.Name)
	codec.Text(c, "type", &s.Type)
	codec.Int(c, "dimension", &s.Dimension)
	codec.Text(c, "similarity", &s.Similarity)
	codec.Text(c, "embeddingModel", &s.EmbeddingModel)
	codec.Stream(c, "namespaces", len(s.namespaces), func(i int, c *codec.Codec) {
		if i == len(s.namespaces) {
			s.namespaces = append(s.namespaces, savedNamespace{})
		}
		s.namespaces[i].members(c)
	})
}

func (s *savedNamespace) members(c *codec.Codec) {
	codec.Text(c, "name", &s.name)
	codec.Section(c, "vectors", slices.Values(s.vectors), (*Vector).members, func(v *Vector) {
		one := *v
		s.vectors = append(s.vectors, &one)
	})
	codec.Texts(c, "pending", &s.pending)
}

func (v *Vector) members(c *codec.Codec) {
	v.version(c)
	codec.List(c, "earlier", &v.earlier, (*Vector).version)
}

func (v *Vector) version(c *codec.Codec) {
	codec.Text(c, "id", &v.ID)
	codec.Floats(c, "values", &v.Values)
	codec.Optional(c, "sparse", &v.Sparse, (*SparseVector).members)
	codec.Bytes(c, "metadata", &v.Metadata)
	codec.OptionalText(c, "data", &v.Data)
	codec.Time(c, "ready", &v.ready)
}

func (s *SparseVector) members(c *codec.Codec) {
	codec.Ints(c, "indices", &s.Indices)
	codec.Floats(c, "values", &s.Values)
}

// Load returns the saved index, or an error if it is inconsistent.
func Load(s *Saved) (*Index, error) {
	x := &Index{Config: s.Config, namespaces: map[string]*namespace{}}
	for _, space := range s.namespaces {
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
