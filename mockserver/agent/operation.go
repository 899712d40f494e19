package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/internal/recorder"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/mask"
	"github.com/understudy-mock/understudy/spec/route"
)

// schema is a JSON Schema.
type schema = map[string]any

// operation is an operation of the OpenAPI documents, as a tool needs it.
type operation struct {
	*spec.Operation

	route route.Route
	in    map[string]string // by argument: path, query or body
	takes map[string]any    // schemas by argument
	needs []string          // required arguments
}

// operations are the operations by id. The first tool reads the documents, so that they do not slow
// down the start of a server.
var operations = sync.OnceValue(func() map[string]*operation {
	all := map[string]*operation{}
	for _, load := range []func() (*spec.Document, error){spec.Load, spec.LoadControl} {
		document, err := load()
		var plain schema
		if err == nil {
			err = json.Unmarshal(document.JSON(), &plain)
		}
		if err != nil {
			panic(err) // the server would not have started
		}
		for _, op := range document.Operations() {
			r, _ := route.Lookup(op.ID)
			one := &operation{Operation: op, route: r, in: map[string]string{}, takes: map[string]any{}}
			path, _ := at(plain, "paths", op.Path).(schema)
			one.read(plain, path, path[strings.ToLower(op.Method)])
			all[op.ID] = one
		}
	}
	return all
})

// read reads the parameters and the members of the body of an operation.
func (o *operation) read(document, path schema, plain any) {
	for _, place := range []any{path, plain} {
		list, _ := at(place, "parameters").([]any)
		for _, p := range list {
			parameter := resolve(document, p)
			name, in := fmt.Sprint(at(parameter, "name")), at(parameter, "in")
			if in != "path" && in != "query" || name == "account" || name == "follow" { // of the session
				continue
			}
			described, _ := at(parameter, "schema").(schema)
			described = maps.Clone(described)
			for _, key := range []string{"x-accepted", "description"} {
				if text := at(parameter, key); text != nil {
					described[key], described["description"] = text, text
				}
			}
			o.add(name, fmt.Sprint(in), described, at(parameter, "required") == true)
		}
	}
	content, _ := at(resolve(document, at(plain, "requestBody")), "content", "application/json", "schema").(schema)
	if items, ok := content["items"].(schema); ok { // of the list that the operation replaces
		content = items
	}
	members, _ := content["properties"].(schema)
	required, _ := content["required"].([]any)
	for name, member := range members {
		o.add(name, "body", member, slices.Contains(required, any(name)))
	}
}

func (o *operation) add(name, in string, described any, required bool) {
	o.in[name], o.takes[name] = in, described
	if required {
		o.needs = append(o.needs, name)
	}
}

// at is the value at keys of nested objects, nil for none.
func at(value any, keys ...string) any {
	for _, key := range keys {
		object, _ := value.(schema)
		value = object[key]
	}
	return value
}

// resolve replaces all references in a value of a document.
func resolve(document schema, value any) any {
	if ref, ok := at(value, "$ref").(string); ok {
		return resolve(document, at(document, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...))
	}
	return inside(value, func(member any) any { return resolve(document, member) })
}

// args are the arguments of a call.
type args map[string]any

// text is an argument as in a query: lists with commas; "" for none.
func (a args) text(name string) string {
	switch v := a[name].(type) {
	case nil:
		return ""
	case []any:
		words := make([]string, len(v))
		for i := range v {
			words[i] = fmt.Sprint(v[i])
		}
		return strings.Join(words, ",")
	default:
		return fmt.Sprint(v)
	}
}

// do calls an operation with arguments, and masks the answer as the page does. header and body are
// those of a request that has more than the document describes.
func (v *visit) do(id string, a args, header http.Header, body []byte) (any, error) {
	o := operations()[id]
	query, members, values := url.Values{}, schema{}, []string{}
	for _, part := range strings.Split(string(o.route), "{")[1:] {
		name, _, _ := strings.Cut(part, "}")
		value := a.text(name)
		if o.Greedy(name) { // Path inserts it as it is
			value = url.PathEscape(value)
		}
		values = append(values, value)
	}
	for name, in := range o.in {
		switch value := a[name]; {
		case value == nil:
		case in == "query":
			query.Set(name, a.text(name))
		case in == "body":
			members[name] = value
		}
	}
	if body == nil && slices.Contains(slices.Collect(maps.Values(o.in)), "body") {
		body, _ = json.Marshal(members) // decoded from JSON
		header = http.Header{"Content-Type": {"application/json"}}
	}
	path := o.route.Path(values...)
	if o.Area != "control_url" {
		account, err := v.account()
		if err != nil {
			return nil, err
		}
		path = "/_understudy/as/" + url.PathEscape(account) + path
	} else if v.Account != "" {
		query.Set("account", v.Account)
	}
	asked, err := http.NewRequestWithContext(v.ctx, o.route.Method(), path+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(asked.Header, header)
	said, err := recorder.Call(v.API, asked, v.Credential)
	if err != nil {
		return nil, err
	}
	v.warning = ""
	for name, values := range said.Header() {
		if strings.HasSuffix(name, "-Warning") { // with the dialect's prefix
			v.warning = strings.Join(values, "; ")
		}
	}
	if len(bytes.TrimSpace(said.Body.Bytes())) == 0 {
		return schema{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(mask.JSON(said.Body.Bytes())))
	decoder.UseNumber()
	var answer any
	if err := decoder.Decode(&answer); err != nil {
		return nil, fmt.Errorf("%s: the answer is not JSON: %w", id, err)
	}
	addDates(answer)
	return answer, nil
}

// addDates adds to each time in Unix ms the same time for readers, as another member.
func addDates(value any) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			addDates(one)
		}
	case map[string]any:
		for name, one := range maps.Clone(v) {
			n, _ := one.(json.Number)
			if name == "deadline" && len(n) == 10 { // of a notified run, in seconds
				n += "000"
			}
			if ms, err := n.Int64(); err == nil && len(n) == 13 {
				v[name+"ISO"] = time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
			}
			addDates(one)
		}
	}
}

// account is the account of the session, which is the first one unless it was named.
func (v *visit) account() (string, error) {
	if v.Account != "" {
		return v.Account, nil
	}
	first, err := v.do("controlOverview", nil, nil, nil)
	id, _ := at(first, "account").(string)
	return id, err
}
