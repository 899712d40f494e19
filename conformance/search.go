package conformance

import (
	"net/http"
	"strconv"

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
	if err := s.claimed("deleteSearchIndex"); err != nil {
		return "", err
	}
	d, err := s.driver("search")
	if err == nil {
		a, err := s.drive("search", map[string]string{"name": s.name(name)})
		if err != nil {
			return "", err
		}
		return a.result("search", d)
	}
	if id := s.suite.disposable(); id != "" {
		return id, nil
	}
	return "", skip(report.FixtureUnsatisfied, "neither driver search nor fixtures.disposable_search_index_ids: what may be deleted")
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
	a, err := s.do(ask{op: "deleteSearchIndex", vars: map[string]string{"id": s.searched.id}})
	s.asked = a
	if err != nil {
		return err
	}
	return a.accepted()
}

func (s *scenario) answersString() error {
	if s.asked.status != http.StatusOK {
		return s.asked.fails("", "the status", "200", strconv.Itoa(s.asked.status))
	}
	if _, ok := s.asked.json.(string); !ok {
		return s.asked.fails("", "the body", "a JSON string", shown(string(s.asked.body)))
	}
	return nil
}

// found asks the driver that looks at an index. Only 404 and 410 (of a command:
// exit code 1) say that there is none; anything else is the driver's failure.
func (s *scenario) found(id string) (bool, error) {
	a, err := s.drive("search_look", map[string]string{"id": id})
	if err != nil && a != nil && (a.status == http.StatusNotFound || a.status == http.StatusGone) {
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
		err = s.failure("the deleted search index", "gone for good", "there again")
	}
	return err
}

func (s *scenario) searchHidden() error {
	return s.eventually(func() error {
		found, err := s.found(s.searched.id)
		if err == nil && found {
			err = s.failure("the deleted search index", "none", "still there")
		}
		return err
	})
}

func (s *scenario) searchStays() error {
	return s.eventually(func() error {
		found, err := s.found(s.searched.other)
		if err == nil && !found {
			err = s.failure("the other search index", "still there", "none")
		}
		return err
	})
}
