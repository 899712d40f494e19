// An adapter for github.com/upstash/qstash-go: the suite that judges clients drives the package
// through it. It converts names only. What the package does not do, it does not do either.
//
//	go build -o adapter . && understudy conform --client ./adapter
package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	qstash "github.com/upstash/qstash-go"
)

type (
	object      = map[string]any
	unsupported string // arguments that the package has no form for
)

func get[T any](o object, name string) T { v, _ := o[name].(T); return v }

// operations are the functions of the package, with their arguments. After = is the name that
// a plain result has in the interface.
var operations = map[string]string{
	"publish": ".Publish message", "publish.json": ".PublishJSON message", "enqueue": ".Enqueue message", "enqueue.json": ".EnqueueJSON message",
	"batch": ".Batch messages", "batch.json": ".BatchJSON messages", "schedule.create": "Schedules.Create message =scheduleId",
	"schedule.get": "Schedules.Get id", "schedule.list": "Schedules.List", "schedule.delete": "Schedules.Delete id",
	"schedule.pause": "Schedules.Pause id", "schedule.resume": "Schedules.Resume id",
	"message.get": "Messages.Get id", "message.cancel": "Messages.Cancel id", "message.cancel_many": "Messages.CancelMany ids =cancelled",
	"queue.upsert": "Queues.Upsert properties", "queue.get": "Queues.Get queue", "queue.list": "Queues.List", "queue.delete": "Queues.Delete queue",
	"queue.pause": "Queues.Pause queue", "queue.resume": "Queues.Resume queue", "key.get": "Keys.Get", "key.rotate": "Keys.Rotate",
	"group.add": "UrlGroups.UpsertEndpoints group endpoints", "group.remove": "UrlGroups.RemoveEndpoints group endpoints",
	"group.get": "UrlGroups.Get group", "group.list": "UrlGroups.List", "group.delete": "UrlGroups.Delete group",
	"dlq.list": "Dlq.List page =messages", "dlq.get": "Dlq.Get id", "dlq.delete": "Dlq.Delete id", "dlq.delete_many": "Dlq.DeleteMany ids =deleted",
	"event.list": "Events.List page =events",
}

// fill returns an argument of a function of the package.
func fill(t reflect.Type, name string, a object) reflect.Value {
	v := reflect.New(t)
	var from any = a[name]
	switch name {
	case "messages":
		for _, m := range get[[]any](a, name) {
			v.Elem().Set(reflect.Append(v.Elem(), fill(t.Elem(), "message", m.(object))))
		}
		return v.Elem()
	case "properties":
		from = object{"queueName": a["queue"], "parallelism": a["parallelism"], "paused": a["paused"]}
	case "page":
		filter := object{"UrlGroup": get[object](a, "filter")["topicName"], "Queue": get[object](a, "filter")["queueName"]}
		for n, value := range get[object](a, "filter") {
			if ms, ok := value.(float64); ok && strings.HasSuffix(n, "Date") {
				value = time.UnixMilli(int64(ms))
			}
			filter[n] = value
		}
		from = object{"Cursor": a["cursor"], "Count": a["count"], "Filter": filter}
	case "message":
		from = message(a)
	}
	text, _ := json.Marshal(from)
	if err := json.Unmarshal(text, v.Interface()); err != nil {
		panic(unsupported(err.Error()))
	}
	if name == "message" && v.Elem().FieldByName("Body").Kind() == reflect.String {
		v.Elem().FieldByName("Body").SetString(raw(get[object](a, "body")))
	}
	return v.Elem()
}

// message has the fields of publish, enqueue, batch and a schedule: neutral names in Go's spelling.
func message(a object) object {
	to, headers := get[object](a, "destination"), object{}
	m := object{"Url": to["url"], "UrlGroup": to["group"], "Destination": get[string](to, "url") + get[string](to, "group"), "Queue": a["queue"], "Method": a["method"], "Cron": a["cron"]}
	for name, value := range get[object](a, "options") {
		if n, ok := value.(float64); ok && name == "not_before" {
			value = fmt.Sprintf("%.0f", n)
		}
		m[strings.ReplaceAll(name, "_", "")] = value
	}
	for _, p := range get[[]any](a, "headers") {
		name, value := p.([]any)[0].(string), p.([]any)[1]
		if headers[name] != nil {
			panic(unsupported("a header with several values"))
		} else if headers[name] = value; strings.EqualFold(name, "Content-Type") {
			m["ContentType"] = value
			delete(headers, name)
		}
	}
	m["Headers"], m["Body"] = headers, get[object](a, "body")["json"]
	return m
}

func raw(body object) string {
	b, _ := base64.StdEncoding.DecodeString(get[string](body, "base64"))
	return string(b) + get[string](body, "text")
}

func verify(a object) (any, error) {
	r, tolerance := qstash.NewReceiver(get[string](a, "current"), get[string](a, "next")), time.Duration(get[float64](a, "tolerance_s"))*time.Second
	err := r.Verify(qstash.VerifyOptions{Signature: get[string](a, "signature"), Url: get[string](a, "url"), Body: raw(get[object](a, "body")), Tolerance: tolerance})
	return object{"valid": err == nil}, err
}

// run calls the package.
func run(op string, of, a object, times int) (result any, err error) {
	limit := time.Duration(get[float64](of, "timeout_ms")) * time.Millisecond
	f := strings.Fields(operations[op])
	owner, method, _ := strings.Cut(f[0], ".")
	if to := get[object](a, "destination"); owner == "" && to["group"] != nil && to["url"] == nil {
		owner = "UrlGroups"
	}
	on := reflect.ValueOf(qstash.NewClientWith(qstash.Options{Url: get[string](of, "url"), Token: get[string](of, "token"), Client: &http.Client{Timeout: limit}}))
	if owner != "" {
		on = on.MethodByName(owner).Call(nil)[0]
	}
	var in, out []reflect.Value
	for i, name := range f[1:] {
		if !strings.HasPrefix(name, "=") {
			in = append(in, fill(on.MethodByName(method).Type().In(i), name, a))
		}
	}
	for range max(1, times) {
		out = on.MethodByName(method).Call(in)
	}
	if err, _ = out[len(out)-1].Interface().(error); err != nil || len(out) == 1 {
		return nil, err
	}
	result = out[0].Interface()
	if name, ok := strings.CutPrefix(f[len(f)-1], "="); ok {
		result = object{name: result, "cursor": out[1].Interface()}
	}
	return result, nil
}

func answer(op string, of, a object, times int) (answer object) {
	defer func() {
		if r := recover(); r != nil {
			answer = object{"error": object{"class": "panic", "library": false, "message": fmt.Sprint(r)}}
			if why, ok := r.(unsupported); ok {
				answer = object{"unsupported": string(why)}
			}
		}
	}()
	if operations[op] == "" && op != "verify" {
		return object{"unsupported": "operation " + op}
	}
	call := func() (any, error) { return run(op, of, a, times) }
	if op == "verify" {
		call = func() (any, error) { return verify(a) }
	}
	result, err := call()
	if err != nil {
		return object{"error": object{"class": fmt.Sprintf("%T", err), "library": errors.Is(err, qstash.ErrInvalidSignature), "message": err.Error()}}
	}
	return object{"result": result}
}

func main() {
	for in := json.NewDecoder(os.Stdin); ; {
		var call struct {
			ID           any
			Op           string
			Client, Args object
			Times        int
		}
		if in.Decode(&call) != nil {
			return
		}
		reply := answer(call.Op, call.Client, call.Args, call.Times)
		if call.Op == "hello" {
			reply = object{
				"protocol": 1, "name": "qstash-go", "version": "1.0.0", "language": runtime.Version(), "dialect": "upstash", "operations": append(slices.Collect(maps.Keys(operations)), "verify"),
				"options":  []string{"delay:string", "not_before", "retries", "callback", "failure_callback", "deduplication_id", "content_based_deduplication", "timeout:string"},
				"features": []string{"base_url", "path_prefix", "timeout", "bytes", "verify.bytes"}, "sentinel": "dlq.list", "depends": []string{"golang-jwt 5.2.1"},
			}
		}
		reply["id"] = call.ID
		text, _ := json.Marshal(reply)
		fmt.Printf("%s\n", text)
	}
}
