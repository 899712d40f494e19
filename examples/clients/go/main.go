// An adapter for github.com/upstash/qstash-go: the suite that judges clients drives the package
// through it. It converts names only. What the package does not do, it does not do either.
//
//	go build -o adapter . && understudy conform --client ./adapter
package main

import (
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

type object = map[string]any

type unsupported string // what the package has no form for

func get[T any](o object, name string) T { v, _ := o[name].(T); return v }

// operations are the functions of the package, with their arguments. After = is the name that
// a plain result has in the interface.
var operations = map[string]string{
	"publish": ".Publish message", "publish.json": ".PublishJSON message", "enqueue": ".Enqueue message", "enqueue.json": ".EnqueueJSON message",
	"batch": ".Batch messages", "batch.json": ".BatchJSON messages", "schedule.create": "Schedules.Create message =scheduleId",
	"schedule.get": "Schedules.Get scheduleId", "schedule.list": "Schedules.List", "schedule.delete": "Schedules.Delete scheduleId",
	"schedule.pause": "Schedules.Pause scheduleId", "schedule.resume": "Schedules.Resume scheduleId", "key.get": "Keys.Get", "key.rotate": "Keys.Rotate",
	"message.get": "Messages.Get messageId", "message.cancel": "Messages.Cancel messageId", "message.cancel_many": "Messages.CancelMany messageIds =cancelled", "message.cancel_all": "Messages.CancelAll =cancelled",
	"queue.upsert": "Queues.Upsert properties", "queue.get": "Queues.Get queue", "queue.list": "Queues.List", "queue.delete": "Queues.Delete queue",
	"queue.pause": "Queues.Pause queue", "queue.resume": "Queues.Resume queue", "group.get": "UrlGroups.Get group", "group.list": "UrlGroups.List",
	"group.add": "UrlGroups.UpsertEndpoints group endpoints", "group.remove": "UrlGroups.RemoveEndpoints group endpoints", "group.delete": "UrlGroups.Delete group",
	"dlq.list": "Dlq.List page =messages", "dlq.get": "Dlq.Get dlqId", "dlq.delete": "Dlq.Delete dlqId", "dlq.delete_many": "Dlq.DeleteMany dlqIds =deleted",
	"event.list": "Events.List page =events",
}

const messages = "publish,publish.json,batch,batch.json,enqueue,enqueue.json"

var hello = object{
	"protocol": 1, "name": "qstash-go", "version": "1.0.0", "language": runtime.Version(), "dialect": "upstash", "operations": append(slices.Collect(maps.Keys(operations)), "verify"),
	"options": []string{
		"method", "headers:single", "delay:string", "retries", "callback", "failure_callback", "timeout:string", "filters:messageId,url,topicName,queueName,scheduleId,fromDate,toDate,responseStatus,callerIp,state",
		"not_before@" + messages, "deduplication_id@" + messages, "content_based_deduplication@" + messages,
	},
	"features": []string{"base_url", "path_prefix", "env", "timeout", "tls", "plain", "bytes", "verify.bytes", "tolerance"}, "sentinel": "dlq.list", "depends": []string{"golang-jwt 5.2.1"},
}

// call calls the package.
func call(op string, of, a object, times float64) (any, error) {
	if op == "verify" {
		o := qstash.VerifyOptions{Signature: get[string](a, "signature"), Url: get[string](a, "url"), Body: raw(a), Tolerance: time.Duration(get[float64](a, "tolerance_s")) * time.Second}
		err := qstash.NewReceiver(get[string](a, "current"), get[string](a, "next")).Verify(o)
		return object{"valid": err == nil}, err
	}
	f, limit := strings.Fields(operations[op]), time.Duration(get[float64](of, "timeout_ms"))*time.Millisecond
	client := qstash.NewClientWithEnv
	if of["token"] != nil {
		o := qstash.Options{Url: get[string](of, "url"), Token: get[string](of, "token"), Client: &http.Client{Timeout: limit}}
		client = func() *qstash.Client { return qstash.NewClientWith(o) }
	}
	on := reflect.ValueOf(client())
	owner, method, _ := strings.Cut(f[0], ".")
	if to := get[object](a, "destination"); owner == "" && to["group"] != nil && to["url"] == nil {
		owner = "UrlGroups"
	}
	if owner != "" {
		on = on.MethodByName(owner).Call(nil)[0]
	}
	in, name, wrapped := []reflect.Value{}, "", false
	for i, argument := range f[1:] {
		if name, wrapped = strings.CutPrefix(argument, "="); !wrapped {
			in = append(in, fill(on.MethodByName(method).Type().In(i), argument, a))
		}
	}
	out := on.MethodByName(method).Call(in)
	for range int(times) - 1 {
		out = on.MethodByName(method).Call(in)
	}
	if err, _ := out[len(out)-1].Interface().(error); err != nil || len(out) == 1 {
		return nil, err
	} else if results, ok := out[0].Interface().([][]qstash.PublishOrEnqueueResponse); ok {
		return unlisted(results, a), nil
	} else if wrapped {
		return object{name: out[0].Interface(), "cursor": out[1].Interface()}, nil
	}
	return out[0].Interface(), nil
}

func answer(op string, of, a object, times float64) (answer object) {
	defer func() {
		if r := recover(); r != nil {
			answer = object{"error": object{"class": "panic", "library": false, "message": fmt.Sprint(r)}}
			if why, ok := r.(unsupported); ok {
				answer = object{"unsupported": why}
			}
		}
	}()
	if op == "hello" {
		return maps.Clone(hello)
	}
	result, err := call(op, of, a, times)
	if err != nil {
		return object{"error": object{"class": fmt.Sprintf("%T", err), "library": errors.Is(err, qstash.ErrInvalidSignature), "message": err.Error()}}
	}
	return object{"result": result}
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for c := (object{}); in.Decode(&c) == nil; c = (object{}) {
		reply := answer(get[string](c, "op"), get[object](c, "client"), get[object](c, "args"), get[float64](c, "times"))
		reply["id"] = c["id"]
		_ = out.Encode(reply)
	}
}
