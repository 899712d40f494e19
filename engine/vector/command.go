package vector

import "time"

// A Change is a command on an index that returns an R. It is plain data, so that it can be
// recorded and applied again.
type Change[R any] interface {
	Apply(x *Index, in Env) (R, error)
}

// A Read reads an R from an index, and changes nothing.
type Read[R any] interface {
	Read(x *Index, now time.Time) (R, error)
}

// Env is the environment of a change, besides the index.
type Env struct {
	Now   time.Time
	Lag   time.Duration           // time from a change until queries find the vector
	Room  func(bytes int64) error // returns an error if there is no memory for this many bytes
	NewID func() string
}

// Nothing is the result of a change without a result.
type Nothing = struct{}

// The commands. Each is named after the method of Index that it calls.
type (
	// UpsertCommand stores vectors: all of them, or none if one is invalid.
	UpsertCommand struct {
		Namespace string
		Vectors   []Vector
	}
	// UpdateCommand changes parts of a vector and returns whether it exists.
	UpdateCommand struct {
		Namespace string
		Vector    Vector
		Patch     bool
	}
	// DeleteCommand removes vectors and returns how many were removed.
	DeleteCommand struct {
		Namespace string
		IDs       []string
		Prefix    string
	}
	// DeleteWhereCommand removes vectors by their metadata and returns how many were removed.
	DeleteWhereCommand struct {
		Namespace string
		Filter    Filter
	}
	// ResetCommand empties a namespace, or all of them.
	ResetCommand struct {
		Namespace string
		All       bool
	}
	// DeleteNamespaceCommand removes a namespace.
	DeleteNamespaceCommand struct{ Namespace string }
	// RenameNamespaceCommand renames a namespace and returns whether it exists.
	RenameNamespaceCommand struct {
		From    string
		To      string
		Replace bool
	}
	// StartCommand runs a query whose further results can be fetched.
	StartCommand struct {
		Namespace string
		Query     ResumableQuery
	}
	// NextCommand fetches the next results of a resumable query.
	NextCommand struct {
		ID    string
		Count int
	}
	// EndCommand ends a resumable query.
	EndCommand struct{ ID string }
)

// Started is a resumable query with its first results.
type Started struct {
	ID    string
	First []Scored
}

// Further are the next results of a resumable query.
type Further struct {
	Results []Scored
	Parts   Parts // what to show of them
}

// Apply stores the vectors.
func (c UpsertCommand) Apply(x *Index, in Env) (Nothing, error) {
	if err := x.Check(c.Vectors); err != nil {
		return Nothing{}, err
	}
	if err := in.Room(Bytes(c.Vectors)); err != nil {
		return Nothing{}, err
	}
	x.Upsert(c.Namespace, c.Vectors, in.Now, in.Lag)
	return Nothing{}, nil
}

// Apply updates the vector.
func (c UpdateCommand) Apply(x *Index, in Env) (bool, error) {
	return x.Update(c.Namespace, c.Vector, c.Patch, in.Now, in.Lag)
}

// Apply deletes the vectors.
func (c DeleteCommand) Apply(x *Index, _ Env) (int, error) {
	return x.Delete(c.Namespace, c.IDs, c.Prefix), nil
}

// Apply deletes the vectors.
func (c DeleteWhereCommand) Apply(x *Index, _ Env) (int, error) {
	return x.DeleteWhere(c.Namespace, c.Filter), nil
}

// Apply empties the namespaces.
func (c ResetCommand) Apply(x *Index, _ Env) (Nothing, error) {
	x.Reset(c.Namespace, c.All)
	return Nothing{}, nil
}

// Apply deletes the namespace.
func (c DeleteNamespaceCommand) Apply(x *Index, _ Env) (Nothing, error) {
	return Nothing{}, x.DeleteNamespace(c.Namespace)
}

// Apply renames the namespace.
func (c RenameNamespaceCommand) Apply(x *Index, _ Env) (bool, error) {
	return x.RenameNamespace(c.From, c.To, c.Replace)
}

// Apply starts the query.
func (c StartCommand) Apply(x *Index, in Env) (s Started, err error) {
	s.ID, s.First, err = x.Start(c.Namespace, c.Query, in.NewID, in.Now)
	return s, err
}

// Apply fetches the results.
func (c NextCommand) Apply(x *Index, in Env) (f Further, err error) {
	f.Results, f.Parts, err = x.Next(c.ID, c.Count, in.Now)
	return f, err
}

// Apply ends the query.
func (c EndCommand) Apply(x *Index, in Env) (Nothing, error) { return Nothing{}, x.End(c.ID, in.Now) }

// The reads. Each is named after the method of Index that it calls.
type (
	// InfoRead reads the information about an index.
	InfoRead struct{}
	// NamespacesRead reads the namespaces in the order of their first upsert.
	NamespacesRead struct{}
	// FetchRead reads vectors by id or by prefix.
	FetchRead struct {
		Namespace string
		IDs       []string
		Prefix    string
	}
	// RangeRead reads a page of a namespace.
	RangeRead struct {
		Namespace string
		Prefix    string
		From      int
		Limit     int
	}
	// QueryRead finds the nearest vectors.
	QueryRead struct {
		Namespace string
		Query     Query
	}
)

// Page is a page of a namespace; Next is -1 at the end.
type Page struct {
	Vectors []*Vector
	Next    int
}

// Read returns the information.
func (InfoRead) Read(x *Index, now time.Time) (Info, error) { return x.Info(now), nil }

// Read returns the namespaces.
func (NamespacesRead) Read(x *Index, _ time.Time) ([]string, error) { return x.Namespaces(), nil }

// Read returns the vectors.
func (r FetchRead) Read(x *Index, _ time.Time) ([]*Vector, error) {
	return x.Fetch(r.Namespace, r.IDs, r.Prefix), nil
}

// Read returns the page.
func (r RangeRead) Read(x *Index, _ time.Time) (p Page, err error) {
	p.Vectors, p.Next = x.Range(r.Namespace, r.Prefix, r.From, r.Limit)
	return p, nil
}

// Read returns the nearest vectors.
func (r QueryRead) Read(x *Index, now time.Time) ([]Scored, error) {
	return x.Query(r.Namespace, r.Query, now)
}
