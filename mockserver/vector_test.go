package mockserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// three are a dense, a sparse and a hybrid index, with a lag of two seconds.
var three = mockserver.Config{VectorLag: 2 * time.Second, VectorIndexes: []vector.Config{
	{Name: "docs", Type: vector.Dense, Dimension: 3, Similarity: vector.Cosine},
	{Name: "words", Type: vector.Sparse},
	{Name: "both", Type: vector.Hybrid, Dimension: 2, Similarity: vector.DotProduct},
}}

// opened is a client of one vector index.
func opened(t *testing.T, u *mockserver.TestServer, name string) *client {
	t.Helper()
	c := newClient(t, u)
	c.url, c.token = environment(u)["UNDERSTUDY_VECTOR_"+name+"_URL"], environment(u)["UNDERSTUDY_VECTOR_"+name+"_TOKEN"]
	return c
}

// nearest demands that the first result of a query is the vector itself that was
// asked for.
func nearest(t *testing.T, a answer, id string) {
	t.Helper()
	expect.Equal(t, "id of the first result", a.text("result", 0, "id"), id)
	expect.Equal[any](t, "score of the first result", a.get("result", 0, "score"), 1.0)
}

func TestVectorIndexes(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, three)
	docs, words, both := opened(t, u, "DOCS"), opened(t, u, "WORDS"), opened(t, u, "BOTH")
	docs.do("POST", "/upsert", `[{"id":1,"vector":[1,0,0],"metadata":{"a":1}},{"id":"b","vector":[0,1,0],"data":"text"}]`).ok()
	docs.do("POST", "/upsert/my%20space", `{"id":"c","vector":[0,0,1]}`).ok()
	words.do("POST", "/upsert", `{"id":"w","sparseVector":{"indices":[7],"values":[2]}}`).ok()

	a := docs.do("GET", "/info", "").ok()
	expect.Equal(t, "vectorCount", a.number("result", "vectorCount"), 0)
	expect.Equal(t, "pendingVectorCount", a.number("result", "pendingVectorCount"), 3)
	expect.Equal(t, "pendingVectorCount of my space", a.number("result", "namespaces", "my space", "pendingVectorCount"), 1)
	u.Advance(2 * time.Second)
	a = docs.do("POST", "/info", "").ok()
	// Twelve bytes for each of three vectors, three of ids, 7 of metadata, 4 of data.
	expect.Equal(t, "vectorCount", a.number("result", "vectorCount"), 3)
	expect.Equal(t, "pendingVectorCount", a.number("result", "pendingVectorCount"), 0)
	expect.Equal(t, "indexSize", a.number("result", "indexSize"), 3*12+3+7+4)
	expect.Equal(t, "vectorCount of the default namespace", a.number("result", "namespaces", "", "vectorCount"), 2)
	expect.Equal(t, "similarityFunction of denseIndex", a.text("result", "denseIndex", "similarityFunction"), "COSINE")
	expect.Equal[any](t, "sparseIndex", a.get("result", "sparseIndex"), nil)
	a = words.do("GET", "/info", "").ok()
	expect.Equal(t, "indexType", a.text("result", "indexType"), "SPARSE")
	expect.Equal(t, "vectorCount", a.number("result", "vectorCount"), 1)
	expect.Equal[any](t, "denseIndex", a.get("result", "denseIndex"), nil)
	expect.True(t, "a sparseIndex", a.get("result", "sparseIndex") != nil)
	a = both.do("GET", "/info", "").ok()
	expect.Equal(t, "indexType", a.text("result", "indexType"), "HYBRID")
	expect.Equal(t, "vectorCount", a.number("result", "vectorCount"), 0)
	expect.Equal(t, "dimension of denseIndex", a.number("result", "denseIndex", "dimension"), 2)
	if expect.True(t, "a sparseIndex", a.get("result", "sparseIndex") != nil) {
		expect.True(t, "the default namespace", a.get("result", "namespaces", "") != nil)
	}
	nearest(t, docs.do("POST", "/query", `{"vector":[1,0,0],"topK":1}`).ok(), "1")
	a = docs.do("POST", "/delete", `["1","b","none"]`).ok()
	expect.Equal(t, "number of deleted vectors", a.number("result", "deleted"), 2)
	docs.do("DELETE", "/reset?all", "").ok()
	docs.do("DELETE", "/reset?all=null", "").refused(400, "query all")
	{
		a = docs.do("GET", "/info", "").ok()
		expect.Equal(t, "vectorCount", a.number("result", "vectorCount"), 0)
		expect.Equal(t, "indexSize", a.number("result", "indexSize"), 0)
		expect.True(t, "the namespace my space", a.get("result", "namespaces", "my space") != nil)
	}
}

// TestVectorScores has the scores that a client's suite asserts, to the last digit.
func TestVectorScores(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{VectorIndexes: []vector.Config{{Name: "both", Type: vector.Hybrid, Dimension: 2, Similarity: vector.Cosine}, {Name: "other", Type: vector.Sparse}}})
	both := opened(t, u, "BOTH")
	both.do("POST", "/upsert", `[{"id":"id0","vector":[0.1,0.2],"sparseVector":{"indices":[0,1],"values":[0.1,0.2]}},
		{"id":"id1","vector":[0.2,0.3],"sparseVector":{"indices":[1,2],"values":[0.2,0.3]}},
		{"id":"id2","vector":[0.3,0.4],"sparseVector":{"indices":[2,3],"values":[0.3,0.4]}}]`).ok()
	for _, row := range []struct {
		name, query, id string
		score           float64
	}{
		{"ranks are joined", `{"topK":1,"vector":[0.1,0.1],"sparseVector":{"indices":[3,4],"values":[0.1,0.2]},"fusionAlgorithm":"RRF"}`, "id2", 0.033333335},
		{"the best of two rankings wins", `{"topK":1,"vector":[0.5,0.1],"sparseVector":{"indices":[0,1],"values":[0.5,0.1]}}`, "id0", 0.032795697},
		{"rare indices weigh more", `{"topK":1,"sparseVector":{"indices":[2,3],"values":[0.5,0.5]},"weightingStrategy":"IDF","fusionAlgorithm":"DBSF"}`, "id2", 0.26666638},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := both.do("POST", "/query", row.query).ok()
			expect.Equal(t, "id of the first result", a.text("result", 0, "id"), row.id)
			expect.Equal[any](t, "score of the first result", a.get("result", 0, "score"), row.score)
		})
	}
}

// TestDistributionBasedFusion has the order and scores that two clients' suites assert.
func TestDistributionBasedFusion(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{VectorIndexes: []vector.Config{{Name: "both", Type: vector.Hybrid, Dimension: 2, Similarity: vector.Cosine}, {Name: "other", Type: vector.Sparse}}})
	both := opened(t, u, "BOTH")
	both.do("POST", "/upsert/js", `[{"id":"id0","vector":[0.1,0.2],"sparseVector":{"indices":[0,1],"values":[0.1,0.2]}},
		{"id":"id1","vector":[0.2,0.3],"sparseVector":{"indices":[1,2],"values":[0.2,0.3]}},
		{"id":"id2","vector":[0.3,0.4],"sparseVector":{"indices":[2,3],"values":[0.3,0.4]}}]`).ok()
	both.do("POST", "/upsert/go", `[{"id":"id0","vector":[0.8,0.9],"sparseVector":{"indices":[0,1],"values":[0.1,0.1]}},
		{"id":"id1","vector":[0.9,0.9],"sparseVector":{"indices":[1,2],"values":[0.1,0.1]}},
		{"id":"id2","vector":[0.3,0.9],"sparseVector":{"indices":[2,3],"values":[0.1,0.1]}}]`).ok()
	query := `{"vector":[0.1,0.1],"sparseVector":{"indices":[0],"values":[0.1]},"topK":2,"weightingStrategy":"IDF","fusionAlgorithm":"DBSF"}`
	rows := func(list any) (found []string) {
		for _, item := range list.([]any) {
			one := item.(map[string]any)
			found = append(found, fmt.Sprintf("%s %.6f", one["id"], one["score"]))
		}
		return found
	}
	t.Run("a list has at most topK vectors, and the deviation is that of a sample", func(t *testing.T) {
		got := rows(both.do("POST", "/query/js", query).ok().get("result"))
		expect.Equal(t, "results", strings.Join(got, ", "), "id2 0.617851, id0 0.500000")
	})
	t.Run("a resumable query compares what is left", func(t *testing.T) {
		first := both.do("POST", "/resumable-query/js", query).ok()
		expect.Equal(t, "first results", strings.Join(rows(first.get("result", "scores")), ", "), "id2 0.617851, id0 0.500000")
		next := both.do("POST", "/resumable-query-next", `{"uuid":"`+first.text("result", "uuid")+`","additionalK":1}`).ok()
		expect.Equal(t, "next results", strings.Join(rows(next.get("result")), ", "), "id1 0.500000")
	})
	t.Run("a large score in one list does not win alone", func(t *testing.T) {
		a := both.do("POST", "/query/go", `{"vector":[0.9,0.9],"sparseVector":{"indices":[0,1,3],"values":[0.1,0.1,100]},"fusionAlgorithm":"DBSF"}`).ok()
		for i, id := range []string{"id1", "id2", "id0"} {
			expect.Equal(t, fmt.Sprint("id of result ", i), a.text("result", i, "id"), id)
		}
	})
}

// TestAVectorWithoutID is what the namespace tests of the published Go client send.
func TestAVectorWithoutID(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	c.url, c.token = u.VectorURL(), environment(u)["UNDERSTUDY_VECTOR_TOKEN"]
	c.do("POST", "/upsert/ns", `{"id":"","vector":[0.1,0.1]}`).ok()
	expect.Equal(t, "number of vectors", c.do("GET", "/info", "").ok().number("result", "namespaces", "ns", "vectorCount"), 1)
	expect.Equal(t, "id of a query's result", c.do("POST", "/query/ns", `{"vector":[0.1,0.1]}`).ok().text("result", 0, "id"), "")
	expect.Equal(t, "number of updated vectors", c.do("POST", "/update/ns", `{"id":"","vector":[1,0]}`).ok().number("result", "updated"), 1)
	expect.True(t, "the fetched vector", c.do("POST", "/fetch/ns", `{"ids":[""]}`).ok().get("result", 0) != nil)
	expect.Equal(t, "number of deleted vectors", c.do("POST", "/delete/ns", `{"ids":[""]}`).ok().number("result", "deleted"), 1)
	c.do("POST", "/upsert/ns", `{"vector":[0.1,0.1]}`).refused(400, "id", "missing")
	c.do("POST", "/upsert/ns", `{"id":null,"vector":[0.1,0.1]}`).refused(400, "id")
}

func TestAChangedVectorIsFoundAsItWasWhileTheChangeIsPending(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, three)
	docs := opened(t, u, "DOCS")
	found := func(name, metadata string) {
		t.Helper()
		a := docs.do("POST", "/query", `{"vector":[1,0,0],"includeMetadata":true}`).ok()
		expect.Equal(t, name, a.text("result", 0, "metadata", "v"), metadata)
	}
	put := func(version string) {
		t.Helper()
		docs.do("POST", "/upsert", `{"id":"a","vector":[1,0,0],"metadata":{"v":"`+version+`"}}`).ok()
	}
	put("first")
	u.Advance(2 * time.Second)
	put("second")
	found("while the second is pending", "first")
	info := docs.do("GET", "/info", "").ok()
	expect.Equal(t, "vectorCount", info.number("result", "vectorCount"), 1)
	expect.Equal(t, "pendingVectorCount", info.number("result", "pendingVectorCount"), 1)
	expect.Equal(t, "metadata that a fetch shows at once", docs.do("POST", "/fetch", `{"ids":["a"],"includeMetadata":true}`).ok().text("result", 0, "metadata", "v"), "second")
	u.Advance(time.Second)
	docs.do("POST", "/update", `{"id":"a","metadata":{"v":"third"}}`).ok()
	u.Advance(time.Second)
	found("when the second is ready", "second")
	u.Advance(time.Second)
	found("when the third is ready", "third")
	for i := range 40 {
		put(fmt.Sprint("many ", i))
	}
	found("while many are pending", "third")
	u.Advance(2 * time.Second)
	found("when all are ready", "many 39")
	put("last")
	expect.Equal(t, "number of deleted vectors", docs.do("POST", "/delete", `["a"]`).ok().number("result", "deleted"), 1)
	expect.Equal(t, "results after the delete", len(docs.do("POST", "/query", `{"vector":[1,0,0]}`).ok().get("result").([]any)), 0)
	expect.Equal(t, "indexSize", docs.do("GET", "/info", "").ok().number("result", "indexSize"), 0)
}

func TestTheEmbeddingOfOneIndex(t *testing.T) {
	t.Parallel()
	cfg := three
	cfg.Embed, cfg.VectorLag = "words=hash,both=hash", 0
	u := mockserver.RunT(t, cfg)
	for name, model := range map[string]string{"WORDS": "sparseIndex", "BOTH": "denseIndex"} {
		c := opened(t, u, name)
		c.do("POST", "/upsert-data", `{"id":"a","data":"red apples"}`).ok()
		expect.Equal(t, "embeddingModel of "+name, c.do("GET", "/info", "").ok().text("result", model, "embeddingModel"), "UNDERSTUDY_TEST_HASH")
	}
	docs := opened(t, u, "DOCS")
	docs.do("POST", "/upsert-data", `{"id":"a","data":"red apples"}`).refused(422, "embedding model")
	expect.Equal(t, "embeddingModel of an index without", docs.do("GET", "/info", "").ok().text("result", "denseIndex", "embeddingModel"), "")
	for _, text := range []string{"none=hash", "words=glove", "glove", "words=hash,", "="} {
		cfg.Embed = text
		if s, err := mockserver.Run(cfg); err == nil {
			_ = s.Close()
			t.Errorf("embed %q: got no error, want one", text)
		} else if !strings.Contains(err.Error(), "embed: invalid value") {
			t.Errorf("embed %q: got %v, want embed: invalid value", text, err)
		}
	}
}

func TestVectorIndexesRefuse(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, three)
	docs, words, both := opened(t, u, "DOCS"), opened(t, u, "WORDS"), opened(t, u, "BOTH")
	for _, row := range []struct {
		c      *client
		path   string
		body   string
		status int
		texts  []string
	}{
		{docs, "/upsert", `{"id":"a","vector":[1,2]}`, 422, []string{"2", "expected: 3"}},
		{docs, "/upsert", `[{"id":"a","vector":[1,2,3]},{"id":"b","vector":[1]}]`, 422, []string{"expected: 3"}},
		{docs, "/upsert", `{"id":"a"}`, 422, []string{"dense", `"a"`}},
		{docs, "/upsert", `{"id":"a","vector":[1,2,NaN]}`, 400, []string{"line 1, column 25", "'N'"}},
		{docs, "/upsert", `{"id":"a","vector":[1,null,3]}`, 400, []string{"component 1", "finite"}},
		{docs, "/upsert", `{"id":"a","vector":[1,2,1e39]}`, 400, []string{"/vector", "1e39", "finite"}},
		{docs, "/upsert", `{"id":"a","vector":[1,2,"Infinity"]}`, 400, []string{"/vector", "string", "finite"}},
		{docs, "/upsert/", `{"id":"a","vector":[1,2,3]}`, 400, []string{"namespace", "non-empty"}},
		{docs, "/query", `{"vector":[1,2]}`, 422, []string{"expected: 3"}},
		{docs, "/query", `{"vector":[1,2,3],"topK":0}`, 400, []string{"topK", "0", "of 1 or more"}},
		{docs, "/query", `{"vector":[1,2,3],"queryMode":"BOTH"}`, 400, []string{"queryMode", "BOTH", "HYBRID"}},
		{docs, "/query", `{"vector":[1,2,3],"fusionAlgorithm":"X"}`, 400, []string{"fusionAlgorithm", "RRF"}},
		{docs, "/query", `{"vector":[1,2,3],"filter":"a ="}`, 400, []string{"filter", "a =", "GLOB"}},
		{docs, "/delete", `{"filter":"a = 1","prefix":"b"}`, 400, []string{"only one"}},
		{docs, "/range", `{"cursor":"x"}`, 400, []string{"cursor", "x", "nextCursor"}},
		{docs, "/range", `{"limit":-1}`, 400, []string{"limit", "-1", "of 1 or more"}},
		{docs, "/fetch", `null`, 400, []string{"null", "object"}},
		{docs, "/update", `{"id":"a","sparseVector":{"indices":[null],"values":[1]}}`, 400, []string{"index null", "32 bits"}},
		{docs, "/query", `[null]`, 400, []string{"/0", "null", "object"}},
		{docs, "/delete", "\xff\xfe", 400, []string{"UTF-8"}},
		{docs, "/query", `null`, 400, []string{"null", "object"}},
		{docs, "/upsert", `{"vector":[1,0,0]}`, 400, []string{"/id", "missing"}},
		{docs, "/upsert", `{"id":{},"vector":[1,0,0]}`, 400, []string{"id: invalid value {}"}},
		{docs, "/update", `{"vector":[1,0,0]}`, 400, []string{"/id", "missing"}},
		{docs, "/delete", `true`, 400, []string{"id: invalid value true"}},
		{docs, "/delete", `{}`, 400, []string{"ids, prefix"}},
		{docs, "/update", `{"id":"a","metadataUpdateMode":"MERGE"}`, 400, []string{"metadataUpdateMode", "MERGE", "PATCH"}},
		{docs, "/upsert-data", `{"id":"a","data":"x"}`, 422, []string{"embedding model", "--embed hash"}},
		{docs, "/query-data", `{"data":"x"}`, 422, []string{"embedding model", "--embed hash"}},
		{docs, "/resumable-query-data/ns", `{"data":"x"}`, 422, []string{"embedding model", "--embed hash"}},
		{docs, "/query", `{"data":"x"}`, 400, []string{"/data", "-data"}},
		{both, "/query", `{"topK":1}`, 422, []string{"dense or sparse"}},
		{docs, "/query", `{"vector":[1,2,3],"data":"x"}`, 400, []string{"/data", "-data"}},
		{docs, "/query", `{"vector":[1,2,3],"weightingStrategy":"TF"}`, 400, []string{"weightingStrategy", "TF", "IDF"}},
		{docs, "/resumable-query", `{"vector":[1,2]}`, 422, []string{"expected: 3"}},
		{docs, "/resumable-query", `{"vector":[1,2,3],"maxIdle":0}`, 400, []string{"maxIdle", "above 0"}},
		{docs, "/resumable-query-next", `{"uuid":"none","additionalK":1}`, 404, []string{"none", "not found"}},
		{docs, "/resumable-query-next", `{"uuid":"none"}`, 400, []string{"additionalK", "of 1 or more"}},
		{docs, "/resumable-query-end", `{"uuid":"none"}`, 404, []string{"none", "not found"}},
		{words, "/upsert", `{"id":"a","sparseVector":{"indices":[` + strings.Repeat("1,", 1000) + `1],"values":[` + strings.Repeat("1,", 1000) + `1]}}`, 422, []string{"1001 indices", "at most 1000"}},
		{docs, "/rename-namespace", `{"namespace":"","newNamespace":"x"}`, 400, []string{"default namespace"}},
		{docs, "/rename-namespace", `{"namespace":"x","newNamespace":""}`, 400, []string{"empty", `"x"`}},
		{docs, "/delete-namespace/none", "", 404, []string{"none", "docs"}},
		{words, "/upsert", `{"id":"a","vector":[1]}`, 422, []string{"sparse"}},
		{words, "/upsert", `{"id":"a","sparseVector":{"indices":[1,2],"values":[1]}}`, 422, []string{"2 indices", "1 values"}},
		{words, "/upsert", `{"id":"a","sparseVector":{"indices":[1.5],"values":[1]}}`, 400, []string{"indices", "1.5", "an integer of 32 bits"}},
		{words, "/query", `{"sparseVector":{"indices":[1,2],"values":[1]}}`, 422, []string{"2 indices"}},
		{docs, "/unknown", "", 404, []string{"/unknown"}},
	} {
		a := row.c.do("POST", row.path, row.body)
		if a.refused(row.status, row.texts...); a.number("status") != int64(row.status) {
			t.Errorf("%s %s: no status in %s", row.path, row.body, a.raw)
		}
	}
	if a := docs.do("GET", "/info", "").ok(); a.number("result", "pendingVectorCount") != 0 {
		t.Errorf("something was stored: %s", a.raw)
	}

	docs.do("GET", "/info", "", "Authorization:").refused(http.StatusUnauthorized, "Unauthorized")
	docs.do("GET", "/info", "", "Authorization: Bearer "+words.token).refused(http.StatusUnauthorized, "docs")
	docs.url = u.VectorIndexURL("none")
	docs.do("GET", "/info", "").refused(http.StatusNotFound, "none", "not found")
}

func TestASingleNamedIndexHasItsVariables(t *testing.T) {
	t.Parallel()
	named := mockserver.RunT(t, mockserver.Config{VectorIndexes: []vector.Config{{Name: "docs", Type: vector.Dense, Similarity: vector.Cosine}}})
	expect.Equal(t, "UNDERSTUDY_VECTOR_DOCS_URL", environment(named)["UNDERSTUDY_VECTOR_DOCS_URL"], named.VectorIndexURL("docs"))
	expect.Equal(t, "UNDERSTUDY_VECTOR_DEFAULT_URL", environment(mockserver.RunT(t))["UNDERSTUDY_VECTOR_DEFAULT_URL"], "")
}

func TestVectorIndexFlag(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]vector.Config{
		"docs=DENSE:1536:COSINE":    {Name: "docs", Type: "DENSE", Dimension: 1536, Similarity: "COSINE"},
		"docs=DENSE":                {Name: "docs", Type: "DENSE", Similarity: "COSINE"},
		"both=HYBRID:384:EUCLIDEAN": {Name: "both", Type: "HYBRID", Dimension: 384, Similarity: "EUCLIDEAN"},
		"words=SPARSE":              {Name: "words", Type: "SPARSE", Similarity: "COSINE"},
		"sparse=SPARSE:0:":          {Name: "sparse", Type: "SPARSE", Similarity: "COSINE"},
		"docs=DENSE::EUCLIDEAN":     {Name: "docs", Type: "DENSE", Similarity: "EUCLIDEAN"},
		"sparse=SPARSE:0:COSINE":    {},
		"docs":                      {},
		"=DENSE:3":                  {},
		"docs=DENSE:0":              {},
		"docs=DENSE:x":              {},
		"docs=DENSE:3:MANHATTAN":    {},
		"docs=DENSE:3:COSINE:extra": {},
		"docs=THICK:3":              {},
		"words=SPARSE:3":            {},
		"a b=DENSE:3":               {},
	} {
		got, err := mockserver.ParseVectorIndex(text)
		if want.Name == "" {
			if err == nil {
				t.Errorf("%s: got %+v, want an error", text, got)
			}
			continue
		}
		expect.Nil(t, text, err)
		if got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

func TestVectorsOfTexts(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Embed: mockserver.EmbedHash})
	c := newClient(t, u)
	c.url, c.token = u.VectorURL(), environment(u)["UNDERSTUDY_VECTOR_TOKEN"]
	t.Run("the first text decides on the dimension", func(t *testing.T) {
		c.do("POST", "/upsert-data", `[{"id":"a","data":"red apples"},{"id":"b","data":"blue whales"}]`).ok()
		expect.Equal(t, "dimension", c.do("GET", "/info", "").ok().number("result", "dimension"), 384)
	})
	t.Run("the same text gives the same vector", func(t *testing.T) {
		nearest(t, c.do("POST", "/query-data", `{"data":"red apples","topK":1}`).ok(), "a")
	})
	t.Run("several queries in one request", func(t *testing.T) {
		if a := c.do("POST", "/query-data/", `[{"data":"apple","topK":1},{"data":"whale","topK":1}]`); a.status == http.StatusOK {
			t.Errorf("an empty namespace was taken: %s", a.raw)
		}
		a := c.do("POST", "/query-data", `[{"data":"apple","topK":1},{"data":"whale","topK":1}]`).ok()
		expect.Equal(t, "id of the first query's result", a.text("result", 0, 0, "id"), "a")
		expect.Equal(t, "id of the second query's result", a.text("result", 1, 0, "id"), "b")
	})
	t.Run("an updated text has the vector of the new text", func(t *testing.T) {
		c.do("POST", "/upsert-data", `{"id":"u","data":"green frogs"}`).ok()
		c.do("POST", "/update", `{"id":"u","data":"grey elephants"}`).ok()
		nearest(t, c.do("POST", "/query-data", `{"data":"grey elephants","topK":1}`).ok(), "u")
		c.do("POST", "/delete", `["u"]`).ok()
	})
	t.Run("a text without words is a vector too", func(t *testing.T) {
		c.do("POST", "/upsert-data", `{"id":"c","data":""}`).ok()
	})
	t.Run("no text is refused", func(t *testing.T) {
		c.do("POST", "/upsert-data", `{"id":"c"}`).refused(http.StatusBadRequest, "/data", "missing")
	})
	t.Run("a vector beside the text is refused", func(t *testing.T) {
		c.do("POST", "/upsert-data", `{"id":"c","data":"x","vector":[1]}`).refused(http.StatusBadRequest, "vector", "not allowed")
	})
}

func TestUnknownEmbedding(t *testing.T) {
	t.Parallel()
	if s, err := mockserver.Run(mockserver.Config{Embed: "bge"}); err == nil || !strings.Contains(err.Error(), "must be hash") {
		_ = s.Close()
		t.Errorf("got %v", err)
	}
}

// TestALongListHasTheBudgetOfOneRequest sends short lists whose elements find everything.
func TestALongListHasTheBudgetOfOneRequest(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Memory: 16 << 20, VectorIndexes: []vector.Config{{Name: "docs", Type: vector.Dense, Dimension: 2, Similarity: vector.Cosine}}})
	docs := opened(t, u, "DOCS")
	var all []string
	for i := range 1000 {
		all = append(all, fmt.Sprintf(`{"id":"v%d","vector":[1,%d],"metadata":{"text":%q}}`, i, i+1, strings.Repeat("x", 500)))
	}
	docs.do("POST", "/upsert", "["+strings.Join(all, ",")+"]").ok()
	many := func(element string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
	}
	const query = `{"vector":[1,1],"topK":1000,"includeMetadata":true}`
	for _, c := range [][2]string{
		{"/query", many(query, 50)},
		{"/fetch", `{"includeMetadata":true,"ids":` + many(`"v1"`, 20_000) + `}`},
	} {
		docs.do("POST", c[0], c[1]).refused(http.StatusRequestEntityTooLarge, "answer: larger than the limit of 2 MiB; ask for less at a time")
	}
	docs.do("POST", "/query", query).ok()
	docs.do("POST", "/query", many(`{"vector":[1,1],"topK":10}`, 50)).ok()
	t.Run("seconds", func(t *testing.T) {
		effort.Long(t, "takes the limit of 5 s")
		opened(t, u, "DOCS").do("POST", "/query", many(`{"vector":[1,1],"topK":1,"filter":"text CONTAINS 'y'"}`, 60_000)).refused(http.StatusServiceUnavailable, "the request takes longer than the limit of 5s")
	})
}
