package step

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
)

// maxDimension limits the vectors that the suite makes.
const maxDimension = 100_000

// vectorizing is the state of a scenario about vectors.
type vectorizing struct {
	before any
	ns     string
}

var vectorSteps = []step{
	{"Given", `the vectors (".+") in a namespace of their own`, (*Scenario).someVectors},
	{"When", `the information about the vector index is read( until it has moved)?`, (*Scenario).readInfo},
	{"Then", `the totals are the sums over the namespaces`, (*Scenario).totalsAreSums},
	{"Then", `the index holds (\d+) vectors more than before, and is not smaller`, (*Scenario).holdsMore},
}

func (s *Scenario) getInfo() (*harness.Response, error) {
	err := s.Ask(harness.Request{Operation: "getVectorInfo"})
	return s.Asked, err
}

// someVectors calls the driver that puts vectors into a namespace, with the dimension of the index.
func (s *Scenario) someVectors(names string) error {
	if _, err := s.Driver("vectors"); err != nil {
		return err
	}
	a, err := s.getInfo()
	if err != nil {
		return s.Assume(err, "REQ-VEC-001")
	}
	s.vectors.before = a.JSON
	dimension, _ := check.Integer(a.JSON, "/result/dimension")
	if dimension = max(dimension, 3); dimension > maxDimension {
		return harness.Inconclusive(report.PrerequisiteFailed, "the index has %d dimensions; the suite makes vectors of at most %d", dimension, maxDimension)
	}
	type vector struct {
		ID     string    `json:"id"`
		Vector []float64 `json:"vector"`
	}
	var list []vector
	for i, name := range harness.QuotedNames(names) {
		v := vector{s.Key + name, make([]float64, dimension)}
		v.Vector[i%int(dimension)], v.Vector[0] = 1, 0.5
		list = append(list, v)
	}
	body, err := json.Marshal(list)
	if err != nil {
		return harness.Fault("", "%v", err)
	}
	s.vectors.ns = s.Name("ns")
	_, err = s.Drive("vectors", map[string]string{"namespace": s.vectors.ns, "vectors": string(body)})
	return err
}

// readInfo may wait until the counts differ from those before. The next steps check the counts.
func (s *Scenario) readInfo(moved string) error {
	if moved == "" {
		return s.Ask(harness.Request{Operation: "getVectorInfo"})
	}
	was := s.total(s.vectors.before)
	return s.Eventually(func() error {
		a, err := s.getInfo()
		if err == nil && s.total(a.JSON) == was {
			err = s.FailureOf(a.JSON, "the information has not moved", "other counts", harness.Shown(a.JSON))
		}
		return err
	})
}

// total is the number of vectors in an index, ready and pending.
func (s *Scenario) total(v any) int64 {
	ready, _ := check.Integer(v, "/result/vectorCount")
	pending, _ := check.Integer(v, "/result/pendingVectorCount")
	return ready + pending
}

func (s *Scenario) namespaces() (map[string]any, error) {
	v, _ := check.At(s.Asked.JSON, "/result/namespaces")
	m, ok := v.(map[string]any)
	if !ok {
		return nil, s.Asked.Fails("/result/namespaces", "the namespaces", "an object", check.KindOf(v))
	}
	return m, nil
}

// totalsAreSums repeats the check until the index is idle, because changes become visible later.
func (s *Scenario) totalsAreSums() error {
	return s.Eventually(func() error {
		if err := s.readInfo(""); err != nil {
			return err
		}
		m, err := s.namespaces()
		if err != nil {
			return err
		}
		for _, field := range []string{"vectorCount", "pendingVectorCount"} {
			sum := int64(0)
			for _, ns := range m {
				n, _ := check.Integer(ns, "/"+field)
				sum += n
			}
			if total, _ := check.Integer(s.Asked.JSON, "/result/"+field); total != sum {
				return s.Asked.Fails("/result/"+field, "the total", fmt.Sprintf("%d, the sum over the namespaces", sum), strconv.FormatInt(total, 10))
			}
		}
		if n, _ := check.Integer(m[s.vectors.ns], "/vectorCount"); n == 0 {
			if p, _ := check.Integer(m[s.vectors.ns], "/pendingVectorCount"); p == 0 {
				return s.Asked.Fails("/result/namespaces/"+s.vectors.ns, "the namespace that was filled", "its vectors", harness.Shown(m))
			}
		}
		return nil
	})
}

// holdsMore requires the exact number with a virtual clock, because then no one else
// uses the index. In real time others may add vectors.
func (s *Scenario) holdsMore(n int64) error {
	was, is := s.total(s.vectors.before), s.total(s.Asked.JSON)
	if is < was+n || s.Clock.Virtual() && is != was+n {
		return s.Asked.Fails("/result/vectorCount", "vectors, ready and pending", strconv.FormatInt(was+n, 10), strconv.FormatInt(is, 10))
	}
	before, _ := check.At(s.vectors.before, "/result/indexSize")
	now, _ := check.At(s.Asked.JSON, "/result/indexSize")
	a, errA := strconv.ParseFloat(fmt.Sprint(before), 64)
	b, errB := strconv.ParseFloat(fmt.Sprint(now), 64)
	if errA != nil || errB != nil || s.Clock.Virtual() && b < a {
		return s.Asked.Fails("/result/indexSize", "the size of the index", fmt.Sprintf("at least %v", before), fmt.Sprint(now))
	}
	return nil
}
