package engine

import (
	"regexp"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine/refusal"
)

var groupName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,256}$`)

// ValidGroupName reports whether a URL group may have this name.
func ValidGroupName(name string) bool { return groupName.MatchString(name) }

// group finds or creates a group. Groups are values: a change replaces the old
// one, because readers may hold it.
func (a *Account) group(name string) (Group, error) {
	if g := a.state.Groups[name]; g != nil {
		return *g, nil
	}
	if !ValidGroupName(name) {
		return Group{}, refusal.OfValue("URL group name", name, "", "1 to 256 letters, digits, _, - and .")
	}
	return Group{Name: name, CreatedAt: a.state.Now}, nil
}

// putGroup stores a group, or refuses one that exceeds the memory bound.
func (a *Account) putGroup(g Group) (Group, error) {
	g.UpdatedAt = a.state.Now
	if err := a.roomForBytes(g.Weight() - a.state.Groups[g.Name].Weight()); err != nil {
		return Group{}, err
	}
	a.setGroup(&g)
	return g, nil
}

// setGroup counts only the difference in bytes, so that a changed group is not counted twice.
func (a *Account) setGroup(g *Group) {
	a.addWork(g.Weight() - a.state.Groups[g.Name].Weight())
	a.state.Groups[g.Name] = g
}

// dropGroup also works for a group that does not exist, whose weight is 0.
func (a *Account) dropGroup(name string) {
	a.addWork(-a.state.Groups[name].Weight())
	delete(a.state.Groups, name)
}

// UpdateGroup sets the default headers of a group and creates it when it is
// new. opts and forward are the parsed form of the headers.
func (a *Account) UpdateGroup(name string, headers, forward Header, opts Options) (Group, error) {
	return runCommand(a, updateGroup{name, headers, forward, opts})
}

type updateGroup struct {
	Name    string
	Headers Header
	Forward Header
	Options Options
}

func (c updateGroup) apply(a *Account) (Group, error) {
	g, err := a.group(c.Name)
	if err != nil {
		return Group{}, err
	}
	g.Headers, g.Forward, g.Options = c.Headers, c.Forward, c.Options
	return a.putGroup(g)
}

// AddEndpoints adds endpoints, or replaces those with the same name or URL. It
// creates the group when it is new.
func (a *Account) AddEndpoints(name string, endpoints []Endpoint) (Group, error) {
	return runCommand(a, addEndpoints{name, endpoints})
}

type addEndpoints struct {
	Name      string
	Endpoints []Endpoint
}

// apply clones the endpoints: readers and snapshots hold the old list.
func (c addEndpoints) apply(a *Account) (Group, error) {
	g, err := a.group(c.Name)
	if err != nil {
		return Group{}, err
	}
	list := slices.Clone(g.Endpoints)
	for _, e := range c.Endpoints {
		i := slices.IndexFunc(list, func(old Endpoint) bool {
			return e.Name != "" && old.Name == e.Name || old.URL == e.URL
		})
		if i < 0 {
			list = append(list, e)
		} else {
			list[i] = e
		}
	}
	g.Endpoints = list
	return a.putGroup(g)
}

// RemoveEndpoints removes endpoints by name or URL; removing the last one removes the group.
func (a *Account) RemoveEndpoints(name string, endpoints []Endpoint) error {
	return errorOnly(runCommand(a, removeEndpoints{name, endpoints}))
}

type removeEndpoints struct {
	Name      string
	Endpoints []Endpoint
}

// apply clones the endpoints: readers and snapshots hold the old list.
func (c removeEndpoints) apply(a *Account) (nothing, error) {
	g, err := a.knownGroup(c.Name)
	if err != nil {
		return nothing{}, err
	}
	changed := *g
	changed.Endpoints = slices.DeleteFunc(slices.Clone(g.Endpoints), func(old Endpoint) bool {
		return slices.ContainsFunc(c.Endpoints, func(e Endpoint) bool {
			return e.Name != "" && e.Name == old.Name || e.URL != "" && e.URL == old.URL
		})
	})
	if len(changed.Endpoints) == 0 {
		a.dropGroup(c.Name)
		return nothing{}, nil
	}
	_, err = a.putGroup(changed)
	return nothing{}, err
}

func (a *Account) knownGroup(name string) (*Group, error) {
	if g := a.state.Groups[name]; g != nil {
		return g, nil
	}
	return nil, refusal.Of(ErrNotFound, "topic "+name+" not found", "", "") // clients match this text
}

// Group returns one group, or ErrNotFound.
func (a *Account) Group(name string) (Group, error) {
	a.lock()
	defer a.unlock()
	g, err := a.knownGroup(name)
	if err != nil {
		return Group{}, err
	}
	return *g, nil
}

// Groups lists all groups by name.
func (a *Account) Groups() []Group {
	a.lock()
	defer a.unlock()
	list := make([]Group, 0, len(a.state.Groups))
	for _, g := range a.state.Groups {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(x, y Group) int { return strings.Compare(x.Name, y.Name) })
	return list
}

// DeleteGroup removes a group. Its messages are still delivered. Deleting a group that does not
// exist succeeds, because clients delete without checking when they clean up.
func (a *Account) DeleteGroup(name string) error { return errorOnly(runCommand(a, deleteGroup{name})) }

type deleteGroup struct{ Name string }

func (c deleteGroup) apply(a *Account) (nothing, error) {
	a.dropGroup(c.Name)
	return nothing{}, nil
}
