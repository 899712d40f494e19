package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// example is the request of an operation besides its path. The key of a table is the
// operationId.
type example struct {
	query, body string
	headers     []string
	before      []string // earlier requests: METHOD PATH, a space and a body; then ANSWER is a member of the last answer
	member      string   // that member
	status      int      // of the answer; 0: a success
}

const (
	oneVector  = `{"id": "c", "vector": [0.5, 0.6], "metadata": {"title": "C"}}`
	oneText    = `{"id": "c", "data": "a film about the sea"}`
	oneQuery   = `{"vector": [0.1, 0.2], "topK": 1, "includeMetadata": true}`
	textQuery  = `{"data": "the sea", "topK": 1}`
	oneStub    = `{"url": "https://billing.test/*", "answers": [{"status": 503, "body": "busy"}, {"status": 200}]}`
	startQuery = "POST /resumable-query " + oneQuery
	startIn    = "POST /resumable-query/films " + oneQuery
)

// pathValues are the variables in paths. They refer to the fixture of the tests.
var pathValues = map[string]string{
	"service": "payments", "path": "charges",
	"namespace": "films", "command": "set/greeting/hello", "destination": "https://app.test/hook", "queue": "slow", "queueName": "slow", "flowControlKey": "billing",
	"dlqId": "dlq-1", "scheduleId": "nightly", "destinationOrId": "nightly", "urlGroupName": "orders", "workflowUrl": "https://app.test/workflow",
	"eventId": "paid", "workflowRunId": "wfr_waiting", "userId": "svcUser", "failures": "0", "duration": "10ms", "code": "200", "account": "default", "operation": "v2/queues",
}

// runEntry matches operations on the DLQ entry of a run; all others use the entry of a
// message.
var runEntry = regexp.MustCompile(`Workflow(Run|DLQ)|FailureCallback$`)

// examples are the operations whose requests need more than a path. Sorted.
var examples = map[string]example{
	"addURLGroupEndpoints":    {body: `{"endpoints": [{"name": "mail", "url": "https://mail.test/hook"}]}`},
	"asDelete":                {before: []string{"POST /_understudy/settle {}"}, headers: []string{"operation=v2/schedules/nightly"}},
	"asPatch":                 {headers: []string{"operation=v2/schedules/nightly/resume"}},
	"asPost":                  {body: `{"queueName": "fast", "parallelism": 5}`},
	"asPut":                   {body: "hello", headers: []string{"operation=v2/publish/https://app.test/hook"}},
	"cancelFailureCallback":   {status: http.StatusBadRequest},
	"cancelMessages":          {query: "label=shop"},
	"cancelWorkflowRuns":      {query: "workflowUrl=https://app.test/workflow"},
	"controlAdvance":          {body: `{"by": "1h"}`},
	"controlAwait":            {body: `{"on": "events", "count": 1, "timeout": "1s"}`},
	"controlBody":             {headers: []string{"kind=dlq", "id=dlq-1"}},
	"controlFixtures":         {body: "version: 1\nqueues:\n- {name: fast, parallelism: 5}\n"},
	"controlFleet":            {status: http.StatusNotFound},
	"controlHurry":            {status: http.StatusBadRequest},
	"controlJournal":          {status: http.StatusUnprocessableEntity},
	"controlKeepUndo":         {body: `{"label": "before the reset"}`},
	"controlSearch":           {query: "q=state:failed"},
	"controlSetClock":         {body: `{"mode": "manual"}`},
	"controlSetFaults":        {body: `[{"on": "api", "operation": "publishMessage", "status": 429, "times": 1}]`},
	"controlSetRewrites":      {body: `{"https://app.test": "http://127.0.0.1:3000"}`},
	"controlAddStub":          {body: oneStub},
	"controlSetStubs":         {body: "[" + oneStub + "]"},
	"controlUndo":             {before: []string{`POST /_understudy/undo {"label": "before the reset"}`}, member: "id"},
	"createChatCompletion":    {body: `{"model": "m", "messages": [{"role": "user", "content": "hello"}]}`, status: http.StatusBadRequest},
	"createSchedule":          {body: `{"kind": "nightly"}`, headers: []string{"Svc-Cron: 0 3 * * *", "destinationOrId=https://app.test/report"}},
	"createSearchIndex":       {body: `{"name": "films", "region": "eu-west-1", "type": "free"}`},
	"deleteDLQMessages":       {query: "dlqIds=dlq-1"},
	"deleteVectors":           {body: `["a"]`},
	"deleteVectorsDelete":     {body: `["a"]`},
	"deleteVectorsIn":         {body: `["a"]`},
	"deleteVectorsInDelete":   {body: `["a"]`},
	"deleteWorkflowDLQs":      {query: "dlqIds=dlq-run"},
	"endResumableQuery":       {before: []string{startQuery}, member: "uuid", body: `{"uuid": "ANSWER"}`},
	"endResumableQueryIn":     {before: []string{startIn}, member: "uuid", body: `{"uuid": "ANSWER"}`},
	"enqueueMessage":          {body: `{"order": 7}`},
	"fetchVectors":            {body: `{"ids": ["a"], "includeMetadata": true}`},
	"fetchVectorsGet":         {body: `{"ids": ["a"]}`},
	"fetchVectorsIn":          {body: `{"ids": ["a"], "includeMetadata": true}`},
	"fetchVectorsInGet":       {body: `{"ids": ["a"]}`},
	"kvCommand":               {body: `["SET", "greeting", "hello"]`},
	"kvPipeline":              {body: `[["SET", "greeting", "hello"], ["GET", "greeting"]]`},
	"kvTransaction":           {body: `[["INCR", "visits"], ["GET", "visits"]]`},
	"nextResumableQuery":      {before: []string{startQuery}, member: "uuid", body: `{"uuid": "ANSWER", "additionalK": 1}`},
	"nextResumableQueryIn":    {before: []string{startIn}, member: "uuid", body: `{"uuid": "ANSWER", "additionalK": 1}`},
	"notifyEvent":             {body: `{"amount": 12}`},
	"notifyRun":               {body: `{"amount": 12}`},
	"pinFlowControlKey":       {query: "parallelism=5"},
	"publishBatch":            {body: `[{"destination": "https://app.test/hook", "headers": {"Svc-Retries": "2"}, "body": "hello"}]`},
	"publishMessage":          {body: `{"order": 7}`, headers: []string{"Svc-Retries: 2", "Content-Type: application/json"}},
	"queryVectorData":         {body: textQuery},
	"queryVectorDataGet":      {body: textQuery},
	"queryVectorDataIn":       {body: textQuery},
	"queryVectorDataInGet":    {body: textQuery},
	"queryVectors":            {body: oneQuery},
	"queryVectorsGet":         {body: oneQuery},
	"queryVectorsIn":          {body: oneQuery},
	"queryVectorsInGet":       {body: oneQuery},
	"rangeVectors":            {body: `{"cursor": "0", "limit": 2}`},
	"rangeVectorsGet":         {body: `{"cursor": "0", "limit": 2}`},
	"rangeVectorsIn":          {body: `{"cursor": "0", "limit": 2}`},
	"rangeVectorsInGet":       {body: `{"cursor": "0", "limit": 2}`},
	"removeURLGroupEndpoints": {body: `{"endpoints": [{"name": "billing"}]}`},
	"renameSearchIndex":       {body: `{"name": "goods"}`},
	"renameVectorNamespace":   {body: `{"namespace": "films", "newNamespace": "cinema"}`},
	"repeatFailureCallback":   {status: http.StatusBadRequest},
	"restartWorkflowRuns":     {query: "dlqIds=dlq-run"},
	"resumeWorkflowRuns":      {query: "dlqIds=dlq-run"},
	"retryDLQMessages":        {query: "dlqIds=dlq-1"},
	"startResumableQuery":     {body: oneQuery},
	"startResumableQueryData": {body: textQuery}, "startResumableQueryDataIn": {body: textQuery},
	"startResumableQueryIn": {body: oneQuery},
	"triggerWorkflow":       {body: `{"order": 7}`, headers: []string{"Content-Type: application/json"}},
	"triggerWorkflows":      {body: `[{"destination": "https://app.test/workflow", "body": "{\"order\": 7}"}]`},
	"unpinFlowControlKey":   {query: "parallelism=true"},
	"waitForEvent":          {body: `{"url": "https://app.test/workflow", "timeout": "1d", "step": {"stepId": 2, "stepName": "wait", "stepType": "Wait", "concurrent": 1}}`, headers: []string{"Svc-Workflow-Init: false", "Svc-Workflow-RunId: wfr_waiting", "Svc-Workflow-Url: https://app.test/workflow"}},
	"updateURLGroup":        {body: `{"headers": {"Svc-Retries": ["3"]}}`},
	"updateVector":          {body: `{"id": "a", "metadata": {"title": "B"}}`}, "updateVectorPut": {body: `{"id": "a", "metadata": {"title": "B"}}`},
	"updateVectorIn": {body: `{"id": "a", "metadata": {"title": "B"}}`}, "updateVectorInPut": {body: `{"id": "a", "metadata": {"title": "B"}}`},
	"upsertQueue":      {body: `{"queueName": "fast", "parallelism": 5}`},
	"upsertVectorData": {body: oneText}, "upsertVectorDataPut": {body: oneText}, "upsertVectorDataIn": {body: oneText}, "upsertVectorDataInPut": {body: oneText},
	"upsertVectors": {body: oneVector}, "upsertVectorsPut": {body: oneVector}, "upsertVectorsIn": {body: oneVector}, "upsertVectorsInPut": {body: oneVector},
}

// withoutExample are operations whose answer never ends, or differs between machines. All
// pages of the web page are also left out.
var withoutExample = []string{"controlEvents", "controlExportJournal", "controlMetrics", "controlRestore", "controlSnapshot"}

// exchange is a server with data of every kind, and one request to it.
type exchange struct {
	t      *testing.T
	server *mockserver.Server
	op     *spec.Operation
	with   example
}

// call sends a request and returns status, header and body of the answer.
func (x *exchange) call(method, target, body string, headers ...string) (int, http.Header, string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), effort.Wait(2*time.Minute))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, x.server.URL()+target, strings.NewReader(body))
	expect.NoError(x.t, err)
	for _, line := range headers {
		if name, value, ok := strings.Cut(line, ": "); ok {
			r.Header.Set(name, value)
		}
	}
	if user, password, ok := strings.Cut(r.Header.Get("User"), ":"); ok {
		r.Header.Del("User")
		r.SetBasicAuth(user, password)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		x.t.Fatalf("%s: %v", x.op.ID, err)
	}
	defer func() { _ = response.Body.Close() }() // read to the end
	text, err := io.ReadAll(response.Body)
	if err != nil {
		x.t.Fatalf("%s: %v", x.op.ID, err)
	}
	return response.StatusCode, response.Header, string(text)
}

// environment is a variable for clients of the server.
func (x *exchange) environment(name string) string {
	for _, v := range x.server.Env() {
		if v.Name == "UNDERSTUDY_"+name {
			return v.Value
		}
	}
	return ""
}

// credential is the header with the credentials of a request: the actual one, and the one to
// show.
func (x *exchange) credential() (value, shown string) {
	switch security := x.op.Security; {
	case slices.Contains(security, "basic") && !slices.Contains(security, "control"):
		return "User: " + x.environment("MANAGEMENT_USERNAME") + ":" + x.environment("MANAGEMENT_PASSWORD"), "Authorization: Basic USER:PASSWORD"
	case slices.Contains(security, "bearer"):
		return "Authorization: Bearer " + x.environment("TOKEN"), "Authorization: Bearer TOKEN"
	case slices.Contains(security, "vectorBearer"):
		return "Authorization: Bearer " + x.environment("VECTOR_TOKEN"), "Authorization: Bearer VECTOR_TOKEN"
	case slices.Contains(security, "kvBearer"):
		return "Authorization: Bearer " + x.environment("KV_TOKEN"), "Authorization: Bearer KV_TOKEN"
	}
	return "", ""
}

// value is the value of a variable of the path.
func (x *exchange) value(name string) string {
	for _, line := range x.with.headers {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value
		}
	}
	switch {
	case name == "messageId" || name == "id" && x.op.ID == "controlExplain":
		_, _, said := x.call("GET", "/_understudy/messages?url=https://app.test/charge", "")
		return firstMember(said, "messageId")
	case name == "dlqId" && runEntry.MatchString(x.op.ID):
		return "dlq-run"
	case name == "userId" || name == "id" && x.op.ID == "getUsageStatistics":
		return x.environment("USER_ID")
	case name == "account" || name == "id" && strings.HasSuffix(x.op.ID, "Account"):
		_, _, said := x.call("GET", "/_understudy/accounts", "")
		return regexp.MustCompile(`"([^"]+)"\]`).FindStringSubmatch(said)[1]
	case name == "id" && x.op.ID == "controlUndo":
		return "ANSWER"
	case name == "id":
		return "idx-1"
	}
	return pathValues[name]
}

// firstMember is the value of the first member with this name, as text.
func firstMember(text, name string) string {
	m := regexp.MustCompile(`"` + name + `":\s*"?([^",}]+)`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1]
}

// text is the exchange in Markdown.
func (x *exchange) text() string {
	target := regexp.MustCompile(`\{(\w+)\}`).ReplaceAllStringFunc(x.op.Path, func(v string) string { return x.value(v[1 : len(v)-1]) })
	if x.with.query != "" {
		target += "?" + x.with.query
	}
	credential, shown := x.credential()
	answer := ""
	for _, before := range x.with.before {
		part := strings.SplitN(before, " ", 3)
		_, _, said := x.call(part[0], part[1], part[2], credential)
		answer = firstMember(said, x.with.member)
	}
	fill := strings.NewReplacer("ANSWER", answer)
	target, body := fill.Replace(target), fill.Replace(x.with.body)
	var b strings.Builder
	fmt.Fprintf(&b, "```http\n%s %s\n", x.op.Method, target)
	headers := []string{}
	for _, line := range x.with.headers {
		if strings.Contains(line, ": ") {
			headers = append(headers, line)
		}
	}
	if body != "" && x.op.BodyJSON {
		headers = append(headers, "Content-Type: application/json")
	}
	for _, line := range append(slices.Clone(headers), shown) {
		if line != "" {
			b.WriteString(line + "\n")
		}
	}
	if body != "" {
		b.WriteString("\n" + body + "\n")
	}
	status, header, said := x.call(x.op.Method, target, body, append(headers, credential)...)
	if want := x.with.status; want != 0 && status != want || want == 0 && status >= 300 {
		x.t.Errorf("%s: got %d, want %d (0 is a success): %s", x.op.ID, status, want, said)
	}
	fmt.Fprintf(&b, "```\n\n```http\nHTTP/1.1 %d %s\n", status, http.StatusText(status))
	if kind := header.Get("Content-Type"); kind != "" && said != "" {
		fmt.Fprintf(&b, "Content-Type: %s\n\n%s\n", kind, x.shown(said))
	}
	return b.String() + "```\n"
}

const maxShown = 24 // lines of a body

// steady matches the members that differ between runs.
var steady = regexp.MustCompile(`("(?:real|durationMs|observations|ackMs|tookMs|took|duration|requestedAt|startedAt|answeredAt)": )[\d.]+`)

// shown is a body for the page: indented, with the default address, and cut after maxShown
// lines.
func (x *exchange) shown(body string) string {
	var indented bytes.Buffer
	if json.Indent(&indented, []byte(body), "", "  ") == nil {
		body = indented.String()
	}
	body = strings.ReplaceAll(body, strings.TrimPrefix(x.server.URL(), "http://"), "127.0.0.1:8080")
	body = strings.ReplaceAll(body, `"version": "`+mockserver.Version+`"`, `"version": "0.1.0"`)
	body = steady.ReplaceAllString(body, "${1}0")
	lines := strings.Split(strings.TrimRight(body, "\n"), "\n")
	if len(lines) > maxShown {
		lines = append(lines[:maxShown], "…")
	}
	for i, line := range lines {
		if len(line) > 200 {
			lines[i] = line[:200] + "…"
		}
	}
	return strings.Join(lines, "\n")
}

// operationPage describes the operations of a document by area, with an exchange for each.
func operationPage(t *testing.T, doc *spec.Document, speaks *spec.Dialect) string {
	t.Helper()
	fixture := readFile(t, "../../mockserver/testdata/fixture.yaml")
	byTag := map[string][]*spec.Operation{}
	var tags []string
	for _, op := range doc.Operations() {
		if op.Tag == "page" || slices.Contains(withoutExample, op.ID) {
			continue
		}
		if byTag[op.Tag] == nil {
			tags = append(tags, op.Tag)
		}
		byTag[op.Tag] = append(byTag[op.Tag], op)
	}
	slices.Sort(tags)
	var b strings.Builder
	for _, tag := range tags {
		fmt.Fprintf(&b, "\n## %s\n", strings.ToUpper(tag[:1])+tag[1:])
		slices.SortFunc(byTag[tag], func(a, b *spec.Operation) int { return strings.Compare(a.Path+a.Method, b.Path+b.Method) })
		for _, op := range byTag[tag] {
			s, err := mockserver.Run(mockserver.Config{
				Dialect: speaks, Clock: "manual", Seed: 1, Start: time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC), Embed: mockserver.EmbedHash, Outbound: "stub-only",
				Fixtures: []mockserver.Fixture{{Name: "fixture.yaml", Text: fixture}},
			})
			expect.NoError(t, err)
			x := &exchange{t, s, op, examples[op.ID]}
			fmt.Fprintf(&b, "\n### %s %s\n\n", op.Method, strings.NewReplacer("{", "\\{", "}", "\\}").Replace(op.Path))
			fmt.Fprintf(&b, "%s.\n\n`%s`, %s.%s\n\n%s", op.Summary, op.ID, op.Origin, queries(op), x.text())
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	return b.String()
}

// queries names the query parameters of an operation that are not options.
func queries(op *spec.Operation) string {
	var names []string
	for _, name := range op.QueryParameters() {
		if !strings.HasPrefix(name, "svc-") && !strings.HasPrefix(name, "svc_") {
			names = append(names, "`"+name+"`")
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " Query: " + strings.Join(names, ", ") + "."
}

const exchangesBegin, exchangesEnd = "<!-- exchanges: written by `make generate` -->\n", "<!-- end of exchanges -->\n"

// TestGeneratedExchanges compares the pages of operations with the answers of a server.
func TestGeneratedExchanges(t *testing.T) {
	t.Parallel()
	names := map[string]*spec.Dialect{"../../docs/reference/operations.md": spec.BuiltInDialects()[0]} // its names are neutral
	for path, load := range map[string]func() (*spec.Document, error){"../../docs/reference/operations.md": spec.Load, "../../docs/reference/control.md": spec.LoadControl} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			doc, err := load()
			expect.NoError(t, err)
			expect.GeneratedPart(t, path, exchangesBegin, exchangesEnd, operationPage(t, doc, names[path])+"\n")
		})
	}
}
