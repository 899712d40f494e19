package step

import (
	"net/http"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
)

// searching holds the ids of the search indexes of a scenario.
type searching struct{ id, other string }

var searchSteps = []step{
	{"Given", `(a|another) search index`, (*Scenario).aSearchIndex},
	{"When", `the search index is deleted`, (*Scenario).deleteSearchIndex},
	{"Then", `the search index can no longer be found`, (*Scenario).searchGone},
	{"Then", `the (other )?search index can still be found`, (*Scenario).searchStays},
}

// makeSearchIndex returns the id of an index that the driver creates, or of one of the
// target file that may be deleted.
func (s *Scenario) makeSearchIndex(name string) (string, error) {
	if err := s.Claimed("deleteSearchIndex"); err != nil {
		return "", err
	}
	d, err := s.Driver("search")
	if err == nil {
		a, err := s.Drive("search", map[string]string{"name": s.Name(name)})
		if err != nil {
			return "", err
		}
		return a.Result("search", d)
	}
	if id := s.Suite.Disposable(); id != "" {
		return id, nil
	}
	return "", harness.Inconclusive(report.FixtureUnsatisfied, "neither driver search nor fixtures.disposable_search_index_ids: what may be deleted")
}

func (s *Scenario) aSearchIndex(which string) (err error) {
	if which == "another" {
		s.searched.other, err = s.makeSearchIndex("other")
		return err
	}
	s.searched.id, err = s.makeSearchIndex("search")
	return err
}

func (s *Scenario) deleteSearchIndex() error {
	return s.Ask(harness.Request{Operation: "deleteSearchIndex", Vars: map[string]string{"id": s.searched.id}})
}

// found looks up an index by the driver search_look. Only status 404 or 410, or exit code 1 of a
// command, means that the index does not exist; anything else is a failure of the driver.
func (s *Scenario) found(id string) (bool, error) {
	a, err := s.Drive("search_look", map[string]string{"id": id})
	if err != nil && a != nil && (a.Status == http.StatusNotFound || a.Status == http.StatusGone) {
		return false, nil
	}
	return err == nil, err
}

// searchGone looks the index up twice: a deleted index must not come back.
func (s *Scenario) searchGone() error {
	if err := s.searchHidden(); err != nil {
		return err
	}
	found, err := s.found(s.searched.id)
	if err == nil && found {
		err = s.Failure("the deleted search index", "deleted permanently", "there again")
	}
	return err
}

// searchHidden repeats the lookup, since a deletion may take effect with a delay.
func (s *Scenario) searchHidden() error {
	return s.Eventually(func() error {
		found, err := s.found(s.searched.id)
		if err == nil && found {
			err = s.Failure("the deleted search index", "none", "still there")
		}
		return err
	})
}

// searchStays looks up an index that was not deleted: a deletion by part of a name would
// remove it too.
func (s *Scenario) searchStays(other string) error {
	id := s.searched.id
	if other != "" {
		id = s.searched.other
	}
	return s.Eventually(func() error {
		found, err := s.found(id)
		if err == nil && !found {
			err = s.Failure("the "+other+"search index", "still there", "none")
		}
		return err
	})
}
