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
	{"Then", `the (other )?search index can (no longer|still) be found`, (*Scenario).searchFound},
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

// searchFound looks an index up, and one that was deleted twice: a deletion may take effect with a delay, and a
// deleted index must not come back. A deletion by part of a name would remove the other one too.
func (s *Scenario) searchFound(other, still string) error {
	id, is := s.searched.id, map[bool]string{true: "still there", false: "none"}
	if other != "" {
		id = s.searched.other
	}
	look := func() error {
		found, err := s.found(id)
		if stays := still == "still"; err == nil && found != stays {
			err = s.Failure("the "+other+"search index", is[stays], is[found])
		}
		return err
	}
	if err := s.Eventually(look); err != nil || still == "still" {
		return err
	}
	return look()
}
