package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/understudy-mock/understudy/conformance/check"
)

// vectorizing is what a scenario knows of the vector index.
type vectorizing struct {
	before any
	ns     string
}

var vectorSteps = []step{
	{"Given", `the information about the vector index as it is now`, (*scenario).infoBefore},
	{"Given", `the vectors (".+") in a namespace of their own`, (*scenario).someVectors},
	{"When", `the information about the vector index is read`, (*scenario).readInfo},
	{"When", `the information about the vector index is read until it has moved`, (*scenario).readInfoMoved},
	{"Then", `the answer is 200 with an object "result"`, (*scenario).answersResult},
	{"Then", `the information has the field "(\w+)" as (\w+)`, (*scenario).infoHas},
	{"Then", `the type of the index is DENSE, SPARSE or HYBRID`, (*scenario).indexType},
	{"Then", `a dense index says its dimension, similarity function and embedding model, and a sparse index its embedding model`, (*scenario).partsComplete},
	{"Then", `the namespace "" is listed with its counts`, (*scenario).defaultListed},
	{"Then", `every namespace has a vectorCount and a pendingVectorCount`, (*scenario).namespacesCount},
	{"Then", `the totals are the sums over the namespaces`, (*scenario).totalsAreSums},
	{"Then", `the index holds (\d+) vectors more than before, and is not smaller`, (*scenario).holdsMore},
}

func (s *scenario) getInfo() (*answer, error) {
	a, err := s.do(ask{op: "getVectorInfo"})
	if err != nil {
		return nil, err
	}
	s.asked = a
	return a, a.accepted()
}

func (s *scenario) infoBefore() error {
	a, err := s.getInfo()
	if err == nil {
		s.vectors.before = a.json
	}
	return unless(err)
}

func (s *scenario) readInfo() error {
	_, err := s.getInfo()
	return err
}

// someVectors lets a driver put vectors of the index's dimension into a namespace.
func (s *scenario) someVectors(names string) error {
	if _, err := s.driver("vectors"); err != nil {
		return err
	}
	a, err := s.getInfo()
	if err != nil {
		return unless(err)
	}
	if s.vectors.before == nil {
		s.vectors.before = a.json
	}
	dimension, _ := check.Integer(a.json, "/result/dimension")
	dimension = max(dimension, 3)
	type vector struct {
		ID     string    `json:"id"`
		Vector []float64 `json:"vector"`
	}
	var list []vector
	for i, name := range quoted(names) {
		v := vector{s.key + name, make([]float64, dimension)}
		v.Vector[i%int(dimension)], v.Vector[0] = 1, 0.5
		list = append(list, v)
	}
	body, err := json.Marshal(list)
	if err != nil {
		return harness("", "%v", err)
	}
	s.vectors.ns = s.name("ns")
	_, err = s.drive("vectors", map[string]string{"namespace": s.vectors.ns, "vectors": string(body)})
	return err
}

func (s *scenario) readInfoMoved() error {
	was := s.total(s.vectors.before)
	return s.eventually(func() error {
		a, err := s.getInfo()
		if err == nil && s.total(a.json) == was {
			err = s.failure("the information has not moved", "other counts", shown(a.json))
		}
		return err
	})
}

// total is what an index holds, ready and pending.
func (s *scenario) total(v any) int64 {
	ready, _ := check.Integer(v, "/result/vectorCount")
	pending, _ := check.Integer(v, "/result/pendingVectorCount")
	return ready + pending
}

func (s *scenario) answersResult() error {
	if s.asked.status != http.StatusOK {
		return s.asked.fails("", "the status", "200", strconv.Itoa(s.asked.status))
	}
	return s.has(s.asked.json, "/result", "object")
}

func (s *scenario) infoHas(field, kind string) error {
	return s.has(s.asked.json, "/result/"+field, kind)
}

func (s *scenario) indexType() error {
	kind, _ := check.Text(s.asked.json, "/result/indexType")
	if !slices.Contains([]string{"DENSE", "SPARSE", "HYBRID"}, kind) {
		return s.asked.fails("/result/indexType", "the type of the index", "DENSE, SPARSE or HYBRID", kind)
	}
	return nil
}

func (s *scenario) partsComplete() error {
	if _, has := check.At(s.asked.json, "/result/denseIndex"); has {
		for field, kind := range map[string]string{"dimension": "number", "similarityFunction": "string", "embeddingModel": "string"} {
			if err := s.has(s.asked.json, "/result/denseIndex/"+field, kind); err != nil {
				return err
			}
		}
		f, _ := check.Text(s.asked.json, "/result/denseIndex/similarityFunction")
		if !slices.Contains([]string{"COSINE", "EUCLIDEAN", "DOT_PRODUCT"}, f) {
			return s.asked.fails("/result/denseIndex/similarityFunction", "the similarity function", "COSINE, EUCLIDEAN or DOT_PRODUCT", f)
		}
	}
	if _, has := check.At(s.asked.json, "/result/sparseIndex"); has {
		return s.has(s.asked.json, "/result/sparseIndex/embeddingModel", "string")
	}
	return nil
}

func (s *scenario) namespaces() (map[string]any, error) {
	v, _ := check.At(s.asked.json, "/result/namespaces")
	m, ok := v.(map[string]any)
	if !ok {
		return nil, s.asked.fails("/result/namespaces", "the namespaces", "an object", check.KindOf(v))
	}
	return m, nil
}

func (s *scenario) defaultListed() error {
	m, err := s.namespaces()
	if err != nil {
		return err
	}
	v, has := m[""]
	if !has {
		return s.asked.fails("/result/namespaces", "the default namespace is not listed", `the key ""`, shown(m))
	}
	for _, field := range []string{"/vectorCount", "/pendingVectorCount"} {
		if err := s.has(v, field, "number"); err != nil {
			return err
		}
	}
	return nil
}

func (s *scenario) namespacesCount() error {
	m, err := s.namespaces()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		for _, field := range []string{"/vectorCount", "/pendingVectorCount"} {
			if err := s.has(m[name], field, "number"); err != nil {
				return err
			}
		}
	}
	return nil
}

// totalsAreSums waits until the index is quiet: changes show eventually.
func (s *scenario) totalsAreSums() error {
	return s.eventually(func() error {
		if err := s.readInfo(); err != nil {
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
			if total, _ := check.Integer(s.asked.json, "/result/"+field); total != sum {
				return s.asked.fails("/result/"+field, "the total", fmt.Sprintf("%d, the sum over the namespaces", sum), strconv.FormatInt(total, 10))
			}
		}
		if n, _ := check.Integer(m[s.vectors.ns], "/vectorCount"); n == 0 {
			if p, _ := check.Integer(m[s.vectors.ns], "/pendingVectorCount"); p == 0 {
				return s.asked.fails("/result/namespaces/"+s.vectors.ns, "the namespace that was filled", "its vectors", shown(m))
			}
		}
		return nil
	})
}

func (s *scenario) holdsMore(n int64) error {
	was, is := s.total(s.vectors.before), s.total(s.asked.json)
	if is < was+n || s.clock.virtual() && is != was+n {
		return s.asked.fails("/result/vectorCount", "vectors, ready and pending", strconv.FormatInt(was+n, 10), strconv.FormatInt(is, 10))
	}
	before, _ := check.At(s.vectors.before, "/result/indexSize")
	now, _ := check.At(s.asked.json, "/result/indexSize")
	a, errA := strconv.ParseFloat(fmt.Sprint(before), 64)
	b, errB := strconv.ParseFloat(fmt.Sprint(now), 64)
	if errA != nil || errB != nil || s.clock.virtual() && b < a {
		return s.asked.fails("/result/indexSize", "the size of the index", fmt.Sprintf("at least %v", before), fmt.Sprint(now))
	}
	return nil
}
