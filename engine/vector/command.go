package vector

import "time"

// A Change is a command on an index that gives an R. It is plain data, so that it
// can be recorded and applied again.
type Change[R any] interface {
	Apply(x *Index, in Env) (R, error)
}

// A Read asks an index for an R, and changes nothing.
type Read[R any] interface {
	Read(x *Index, now time.Time) (R, error)
}

// Env is what a change sees beside the index.
type Env struct {
	Now   time.Time
	Lag   time.Duration           // from a change until the vector is found
	Room  func(bytes int64) error // refuses what does not fit into memory
	NewID func() string
}

// Nothing is what a change gives that has nothing to give.
type Nothing = struct{}

// The commands. Each is named after the method of Index that it calls.
type (
	// UpsertCommand stores vectors: all of them, or none when one does not fit.
	UpsertCommand struct {
		Namespace string
		Vectors   []Vector
	}
	// UpdateCommand changes parts of a vector and gives whether there was one.
	UpdateCommand struct {
		Namespace string
		Vector    Vector
		Patch     bool
	}
	// DeleteCommand removes vectors and gives how many there were.
	DeleteCommand struct {
		Namespace string
		IDs       []string
		Prefix    string
	}
	// DeleteWhereCommand removes vectors by their metadata and gives how many there were.
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
	// RenameNamespaceCommand renames a namespace and gives whether there was one.
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
	Parts   Parts // to be shown
}

// Apply upserts.
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

// Apply updates.
func (c UpdateCommand) Apply(x *Index, in Env) (bool, error) {
	return x.Update(c.Namespace, c.Vector, c.Patch, in.Now, in.Lag)
}

// Apply deletes.
func (c DeleteCommand) Apply(x *Index, _ Env) (int, error) {
	return x.Delete(c.Namespace, c.IDs, c.Prefix), nil
}

// Apply deletes.
func (c DeleteWhereCommand) Apply(x *Index, _ Env) (int, error) {
	return x.DeleteWhere(c.Namespace, c.Filter), nil
}

// Apply resets.
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

// Apply fetches.
func (c NextCommand) Apply(x *Index, in Env) (f Further, err error) {
	f.Results, f.Parts, err = x.Next(c.ID, c.Count, in.Now)
	return f, err
}

// Apply ends the query.
func (c EndCommand) Apply(x *Index, in Env) (Nothing, error) { return Nothing{}, x.End(c.ID, in.Now) }

// The reads. Each is named after the method of Index that it calls.
type (
	// InfoRead asks for the information about an index.
	InfoRead struct{}
	// NamespacesRead asks for the namespaces in the order of their first upsert.
	NamespacesRead struct{}
	// FetchRead asks for vectors by id or by prefix.
	FetchRead struct {
		Namespace string
		IDs       []string
		Prefix    string
	}
	// RangeRead asks for a page of a namespace.
	RangeRead struct {
		Namespace string
		Prefix    string
		From      int
		Limit     int
	}
	// QueryRead asks for the nearest vectors.
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

// Read gives the information.
func (InfoRead) Read(x *Index, now time.Time) (Info, error) { return x.Info(now), nil }

// Read lists the namespaces.
func (NamespacesRead) Read(x *Index, _ time.Time) ([]string, error) { return x.Namespaces(), nil }

// Read fetches.
func (r FetchRead) Read(x *Index, _ time.Time) ([]*Vector, error) {
	return x.Fetch(r.Namespace, r.IDs, r.Prefix), nil
}

// Read gives the page.
func (r RangeRead) Read(x *Index, _ time.Time) (p Page, err error) {
	p.Vectors, p.Next = x.Range(r.Namespace, r.Prefix, r.From, r.Limit)
	return p, nil
}

// Read compares.
func (r QueryRead) Read(x *Index, now time.Time) ([]Scored, error) {
	return x.Query(r.Namespace, r.Query, now)
}
