package conformance

import (
	"net/http"
	"strconv"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
)

// searching are the search indexes of a scenario.
type searching struct{ id, other string }

var searchSteps = []step{
	{"Given", `a search index`, (*scenario).aSearchIndex},
	{"Given", `another search index`, (*scenario).anotherSearchIndex},
	{"When", `the search index is deleted`, (*scenario).deleteSearchIndex},
	{"Then", `the answer is 200 with a JSON string`, (*scenario).answersString},
	{"Then", `the search index can no longer be found`, (*scenario).searchGone},
	{"Then", `the other search index can still be found`, (*scenario).searchStays},
}

// makeSearchIndex lets a driver make one, or takes one that may be deleted.
func (s *scenario) makeSearchIndex(name string) (string, error) {
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

func (s *scenario) aSearchIndex() (err error) {
	s.searched.id, err = s.makeSearchIndex("search")
	return err
}

func (s *scenario) anotherSearchIndex() (err error) {
	s.searched.other, err = s.makeSearchIndex("other")
	return err
}

func (s *scenario) deleteSearchIndex() error {
	a, err := s.Do(harness.Request{Operation: "deleteSearchIndex", Vars: map[string]string{"id": s.searched.id}})
	s.Asked = a
	if err != nil {
		return err
	}
	return a.Accepted()
}

func (s *scenario) answersString() error {
	if s.Asked.Status != http.StatusOK {
		return s.Asked.Fails("", "the status", "200", strconv.Itoa(s.Asked.Status))
	}
	if _, ok := s.Asked.JSON.(string); !ok {
		return s.Asked.Fails("", "the body", "a JSON string", harness.Shown(string(s.Asked.Body)))
	}
	return nil
}

// found asks the driver that looks at an index. Only 404 and 410 (of a command:
// exit code 1) say that there is none; anything else is the driver's failure.
func (s *scenario) found(id string) (bool, error) {
	a, err := s.Drive("search_look", map[string]string{"id": id})
	if err != nil && a != nil && (a.Status == http.StatusNotFound || a.Status == http.StatusGone) {
		return false, nil
	}
	return err == nil, err
}

// searchGone looks twice: what is gone for good does not come back.
func (s *scenario) searchGone() error {
	if err := s.searchHidden(); err != nil {
		return err
	}
	found, err := s.found(s.searched.id)
	if err == nil && found {
		err = s.Failure("the deleted search index", "gone for good", "there again")
	}
	return err
}

func (s *scenario) searchHidden() error {
	return s.Eventually(func() error {
		found, err := s.found(s.searched.id)
		if err == nil && found {
			err = s.Failure("the deleted search index", "none", "still there")
		}
		return err
	})
}

func (s *scenario) searchStays() error {
	return s.Eventually(func() error {
		found, err := s.found(s.searched.other)
		if err == nil && !found {
			err = s.Failure("the other search index", "still there", "none")
		}
		return err
	})
}
