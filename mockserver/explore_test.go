package mockserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/mockserver"
)

// shop is an application: a checkout is paid, and then mailed. Its bugs are switches.
type shop struct {
	c    *mockserver.ExploreCase
	app  *httptest.Server
	bugs map[string]bool

	mu     sync.Mutex
	paid   map[int]bool
	mailed map[int]bool
}

func newShop(c *mockserver.ExploreCase, bugs ...string) *shop {
	s := &shop{c: c, bugs: map[string]bool{}, paid: map[int]bool{}, mailed: map[int]bool{}}
	for _, b := range bugs {
		s.bugs[b] = true
	}
	m := http.NewServeMux()
	m.HandleFunc("/checkout", s.checkout)
	m.HandleFunc("/charge", s.charge)
	m.HandleFunc("/mail", s.mail)
	s.app = httptest.NewServer(m)
	c.Cleanup(s.app.Close)
	c.State(func() any {
		s.mu.Lock()
		defer s.mu.Unlock()
		return []any{s.paid, s.mailed}
	})
	return s
}

type order struct{ Order int }

func orderIn(r *http.Request) (o order) {
	_ = json.NewDecoder(r.Body).Decode(&o)
	return o
}

func (s *shop) publish(path string, o order, header ...string) error {
	body, _ := json.Marshal(o)
	return programs.Post(s.c.ListensAt()+"/v2/publish/"+s.app.URL+path, s.c.Token(), string(body), header...)
}

// checkout publishes the charge, and answers 500 if that fails: the caller tries again.
func (s *shop) checkout(w http.ResponseWriter, r *http.Request) {
	o := orderIn(r)
	id := fmt.Sprintf("Svc-Deduplication-Id: charge-%d", o.Order)
	for range 3 {
		if s.publish("/charge", o, id) == nil {
			return
		}
	}
	w.WriteHeader(500)
}

func (s *shop) charge(w http.ResponseWriter, r *http.Request) {
	o := orderIn(r)
	s.mu.Lock()
	known := s.paid[o.Order]
	s.paid[o.Order] = true
	s.mu.Unlock()
	if !known || s.bugs["charges again"] || s.bugs["charges again after a lost answer"] && r.Header.Get("Svc-Retried") != "0" {
		call, _ := http.NewRequest(http.MethodPost, s.c.Outside("payments").URL()+"/charges", strings.NewReader(fmt.Sprintf(`{"order":%d}`, o.Order)))
		answer, err := http.DefaultClient.Do(call)
		if err == nil {
			err = answer.Body.Close()
		}
		if err != nil || answer.StatusCode != http.StatusOK {
			s.mu.Lock()
			s.paid[o.Order] = false
			s.mu.Unlock()
			w.WriteHeader(500)
			return
		}
	}
	if known && s.bugs["forgets the mail of a repeat"] {
		return
	}
	if s.publish("/mail", o, fmt.Sprintf("Svc-Deduplication-Id: mail-%d", o.Order)) != nil {
		w.WriteHeader(500)
	}
}

func (s *shop) mail(_ http.ResponseWriter, r *http.Request) {
	o := orderIn(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mailed[o.Order] = true
}

// findings explores a shop, and returns the texts of the findings.
func findings(t *testing.T, cfg mockserver.ExploreConfig, bugs ...string) []string {
	t.Helper()
	list := &failures{TB: t}
	mockserver.Explore(list, cfg, func(c *mockserver.ExploreCase) {
		s := newShop(c, bugs...)
		for i := range 2 {
			c.Do(func() error {
				answer, err := http.Post(s.app.URL+"/checkout", "application/json", strings.NewReader(fmt.Sprintf(`{"order":%d}`, i+1)))
				if err != nil {
					return err
				}
				defer answer.Body.Close()
				if answer.StatusCode != 200 {
					return errors.New(answer.Status)
				}
				return nil
			})
		}
	})
	return list.texts
}

// failures collects the failures of a test instead of failing it.
type failures struct {
	mockserver.TB
	texts []string
}

func (f *failures) Errorf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}

func TestExploreFindsNothingInACorrectApplication(t *testing.T) {
	t.Parallel()
	if got := findings(t, mockserver.ExploreConfig{}); len(got) > 0 {
		t.Errorf("findings: %s", strings.Join(got, "\n"))
	}
}

func TestExploreFindsPlantedBugs(t *testing.T) {
	t.Parallel()
	for bug, want := range map[string]string{
		"charges again":                     "duplicated effect: payments POST /charges {order:1}, 2 instead of 1",
		"charges again after a lost answer": "lost-answer at start.1 > /charge{charge-1}#0@0",
	} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			got := findings(t, mockserver.ExploreConfig{Depth: 1}, bug)
			if len(got) == 0 {
				t.Fatal("no finding")
			}
			expect.Contains(t, "the findings", strings.Join(got, "\n"), want)
		})
	}
}

func TestExploreRepeatsWhatManyPublishAtTheSameTime(t *testing.T) {
	t.Parallel()
	mockserver.Explore(t, mockserver.ExploreConfig{Cases: 1, CaseTimeout: effort.Wait(10 * time.Second)}, func(c *mockserver.ExploreCase) {
		s := newShop(c)
		c.Do(func() error {
			errs := make([]error, 100) // more than the attempts that a server makes to one host at the same time
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() { errs[i] = s.publish("/charge", order{i}) })
			}
			all.Wait()
			return errors.Join(errs...)
		})
	})
}
