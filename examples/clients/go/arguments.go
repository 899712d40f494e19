package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	qstash "github.com/upstash/qstash-go"
)

// fill returns an argument of a function of the package. A field that it has not is unsupported.
func fill(t reflect.Type, name string, a object) reflect.Value {
	v, from := reflect.New(t).Elem(), a[name]
	switch name {
	case "messages":
		for _, m := range get[[]any](a, name) {
			v.Set(reflect.Append(v, fill(t.Elem(), "message", m.(object))))
		}
		return v
	case "properties":
		from = object{"queueName": a["queue"], "parallelism": a["parallelism"], "paused": a["paused"]}
	case "page":
		filter := object{}
		for n, value := range get[object](a, "filters") {
			if ms, ok := value.(float64); ok && strings.HasSuffix(n, "Date") {
				value = time.UnixMilli(int64(ms))
			}
			filter[strings.NewReplacer("topicName", "UrlGroup", "queueName", "Queue").Replace(n)] = value
		}
		from = object{"Cursor": a["cursor"], "Count": a["count"], "Filter": filter}
	case "message":
		from = message(a)
	}
	text, _ := json.Marshal(from)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v.Addr().Interface()); err != nil {
		panic(unsupported(err.Error()))
	} else if name == "message" && v.FieldByName("Body").Kind() == reflect.String {
		v.FieldByName("Body").SetString(raw(a))
	}
	return v
}

// message has the fields of publish, enqueue, batch and a schedule: neutral names in Go's spelling.
func message(a object) object {
	to, headers, m := get[object](a, "destination"), object{}, object{}
	for _, part := range []object{to, get[object](a, "options"), {"queue": a["queue"], "method": a["method"], "cron": a["cron"], "body": get[object](a, "body")["json"]}} {
		for name, value := range part {
			if n, ok := value.(float64); ok && name == "not_before" {
				value = fmt.Sprintf("%.0f", n)
			}
			if name = strings.ReplaceAll(name, "_", ""); a["cron"] != nil && (name == "url" || name == "group") {
				name = "destination"
			} else if name == "group" {
				name = "urlGroup"
			}
			if value != nil {
				m[name] = value
			}
		}
	}
	for _, p := range get[[]any](a, "headers") {
		if name, value := p.([]any)[0].(string), p.([]any)[1]; strings.EqualFold(name, "Content-Type") {
			m["contentType"] = value
		} else if headers[name] != nil {
			panic(unsupported("a header with several values"))
		} else {
			headers[name], m["headers"] = value, headers
		}
	}
	return m
}

func raw(a object) string {
	b, _ := base64.StdEncoding.DecodeString(get[string](get[object](a, "body"), "base64"))
	return string(b) + get[string](get[object](a, "body"), "text")
}

// unlisted are the results of a batch: for a URL, the package has a list of one.
func unlisted(results [][]qstash.PublishOrEnqueueResponse, a object) []any {
	list := make([]any, len(results))
	for i, m := range get[[]any](a, "messages") {
		if i < len(list) {
			if list[i] = results[i]; len(results[i]) == 1 && get[object](m.(object), "destination")["url"] != nil {
				list[i] = results[i][0]
			}
		}
	}
	return list
}
