package traffic_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/traffic"
)

// fill sets all exported fields of a value to values that differ from each other.
func fill(v reflect.Value, path string, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && path+f.Name != ".Request.Status" { // requests have none
				fill(v.Field(i), path+f.Name+".", n)
			}
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("%s%d \xff", path, *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n) / 3)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n) * 1_000_003)
	case reflect.Map:
		v.Set(reflect.ValueOf(http.Header{"X-One": {fmt.Sprint(*n)}, "X-Two": {"a", "", strings.Repeat("b", 300), strings.Repeat("c", 10_000)}, "X-Empty": {}, "X-Nil": nil}))
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.ValueOf([]string{"one", fmt.Sprint(*n)}))
			return
		}
		v.SetBytes(fmt.Appendf(nil, "%s%d \x00\xff", path, *n))
	default:
		panic("a field of kind " + v.Kind().String())
	}
}

// whole compares also what an entry does not export.
var whole = cmp.Exporter(func(reflect.Type) bool { return true })

func TestAllFieldsAreKept(t *testing.T) {
	t.Parallel()
	t.Run("of a request", func(t *testing.T) {
		t.Parallel()
		var want traffic.Exchange
		fill(reflect.ValueOf(&want).Elem(), "", new(int))
		want.Request.Status, want.Position = 0, 0
		want.MarkDocuments(true, true)
		want.Response.Clip(3)
		var j traffic.Exchanges
		j.CountIn(&engine.Ledger{})
		j.Add(&want)
		got, _ := j.List(0, traffic.Filter{})
		if diff := cmp.Diff([]traffic.Exchange{want}, got, whole); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("of a delivery", func(t *testing.T) {
		t.Parallel()
		var want traffic.Delivery
		fill(reflect.ValueOf(&want).Elem(), "", new(int))
		want.Request.Status = 0
		var j traffic.Deliveries
		j.CountIn(&engine.Ledger{})
		j.Add(&want)
		got, _ := j.List(0, traffic.Filter{})
		if diff := cmp.Diff([]traffic.Delivery{want}, got, whole); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("of a large delivery", func(t *testing.T) {
		t.Parallel()
		want := traffic.Delivery{MessageID: "large", URL: "https://app.test/" + strings.Repeat("u", 100_000), NearMiss: strings.Repeat("n", 100_000)}
		want.Request = traffic.Message{Header: http.Header{"X": {strings.Repeat("v", 100_000)}}, Body: []byte(strings.Repeat("b", 100_000))}
		want.Response = traffic.Message{Header: http.Header{"Y": {strings.Repeat("w", 100_000)}}, Body: []byte(strings.Repeat("a", 100_000))}
		var j traffic.Deliveries
		j.CountIn(&engine.Ledger{})
		j.Add(&traffic.Delivery{})
		j.Add(&want)
		j.Add(&want)
		got, _ := j.List(0, traffic.Filter{URL: want.URL})
		if diff := cmp.Diff([]traffic.Delivery{want, want}, got, whole); diff != "" {
			t.Errorf("%.1000s", diff)
		}
	})
	t.Run("and the zero value", func(t *testing.T) {
		t.Parallel()
		var j traffic.Deliveries
		j.CountIn(&engine.Ledger{})
		j.Add(&traffic.Delivery{})
		got, _ := j.List(0, traffic.Filter{})
		if diff := cmp.Diff([]traffic.Delivery{{}}, got, whole); diff != "" {
			t.Error(diff)
		}
	})
}

func TestFilter(t *testing.T) {
	t.Parallel()
	var j traffic.Exchanges
	j.CountIn(&engine.Ledger{})
	for i, status := range []int{200, 404, 200} {
		j.Add(&traffic.Exchange{OperationID: fmt.Sprint("op", i), Path: fmt.Sprintf("/v2/%d", i), Response: traffic.Message{Status: status}})
	}
	j.Add(&traffic.Exchange{OperationID: "op", Path: "/v2", Problems: []string{"refused"}, Response: traffic.Message{Status: 200}})
	for _, c := range []struct {
		name   string
		filter traffic.Filter
		want   []int
	}{
		{"the zero value selects all", traffic.Filter{}, []int{0, 1, 2, 3}},
		{"an id is compared as a whole", traffic.Filter{ID: "op"}, []int{3}},
		{"a path by its start", traffic.Filter{URL: "/v2/"}, []int{0, 1, 2}},
		{"a path that is longer than all", traffic.Filter{URL: "/v2/00"}, nil},
		{"a status", traffic.Filter{Status: 404}, []int{1}},
		{"a position", traffic.Filter{Position: new(2)}, []int{2}},
		{"refused, by status or problems", traffic.Filter{Refused: new(true)}, []int{1, 3}},
		{"not refused", traffic.Filter{Refused: new(false)}, []int{0, 2}},
		{"all conditions together", traffic.Filter{Status: 200, URL: "/v2/", Refused: new(false), ID: "op2"}, []int{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			list, _ := j.List(0, c.filter)
			var got []int
			for i := range list {
				got = append(got, list[i].Position)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			expect.Equal(t, "counted", j.Count(c.filter), len(c.want))
		})
	}
	t.Run("a follower gets only what matches", func(t *testing.T) {
		t.Parallel()
		list, end, _ := j.Since(0, traffic.Filter{Status: 404})
		if len(list) != 1 || list[0].Position != 1 || end != 4 {
			t.Errorf("%d entries up to %d, want the one at 1 and up to 4", len(list), end)
		}
	})
}

// naive is a journal as a plain list.
type naive struct {
	list           []traffic.Delivery
	first, dropped int
}

// TestJournalIsAList compares a journal with a plain list after random changes. Forget
// may drop more than the list knows: the bodies that are gone are only counted.
func TestJournalIsAList(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var ledger engine.Ledger
	var j traffic.Deliveries
	j.CountIn(&ledger)
	var want naive
	for step := range 3000 {
		switch r.IntN(60) {
		case 0:
			j.Clear()
			want = naive{first: want.first + len(want.list)}
		case 1, 2:
			bytes, before := r.Int64N(40_000), j.Observed()
			freed := j.Forget(bytes)
			if got := before - j.Observed(); got != freed || freed < 0 {
				t.Fatalf("step %d: Forget freed %d bytes and says %d", step, got, freed)
			}
			kept, _ := j.List(0, traffic.Filter{})
			if n := len(want.list) - len(kept); n > 0 { // the oldest entries were dropped
				want.list, want.first, want.dropped = want.list[n:], want.first+n, want.dropped+n
			}
			for i := range kept {
				if kept[i].Request.Body == nil && kept[i].Request.Header == nil {
					want.list[i].Request, want.list[i].Response = kept[i].Request, kept[i].Response
				}
			}
		default:
			d := traffic.Delivery{MessageID: fmt.Sprint(step % 7), Attempt: step, URL: "https://app.test/" + fmt.Sprint(step%3)}
			d.Request = traffic.Message{Header: http.Header{"N": {fmt.Sprint(step)}}, Body: []byte(strings.Repeat("r", 1+r.IntN(5000)))}
			d.Response = traffic.Message{Status: 200 + step%2, Body: []byte(strings.Repeat("a", r.IntN(300)))}
			if len(d.Response.Body) == 0 {
				d.Response.Body = nil
			}
			j.Add(&d)
			want.list = append(want.list, d)
		}
		if step%10 > 0 {
			continue
		}
		got, dropped := j.List(0, traffic.Filter{})
		if all := append([]traffic.Delivery{}, want.list...); !reflect.DeepEqual(got, all) { // cmp.Diff takes a hundred times as long
			t.Fatalf("step %d: %s", step, cmp.Diff(all, got, whole))
		}
		if dropped != want.dropped || j.End() != want.first+len(want.list) {
			t.Fatalf("step %d: %d dropped and the end at %d, want %d and %d", step, dropped, j.End(), want.dropped, want.first+len(want.list))
		}
		from := want.first + r.IntN(len(want.list)+1)
		following, _, _ := j.Since(from, traffic.Filter{})
		if rest := want.list[from-want.first:]; len(rest) > 0 {
			if rest = rest[:min(len(rest), traffic.MaxBatch)]; !reflect.DeepEqual(following, rest) {
				t.Fatalf("step %d: after %d: %s", step, from, cmp.Diff(rest, following, whole))
			}
		}
		if j.Observed() != ledger.Observed() {
			t.Fatalf("step %d: the journal counts %d bytes, the ledger %d", step, j.Observed(), ledger.Observed())
		}
	}
}

// TestReadersKeepTheirBytes reads entries while others are added, dropped and stripped.
func TestReadersKeepTheirBytes(t *testing.T) {
	t.Parallel()
	var j traffic.Deliveries
	j.CountIn(&engine.Ledger{})
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := range 2000 {
				text := fmt.Sprint(w, "-", i)
				j.Add(&traffic.Delivery{MessageID: text, URL: text, Request: traffic.Message{Body: []byte(text + strings.Repeat("x", i))}})
				if i%100 == 99 {
					j.Forget(10_000)
				}
			}
		})
	}
	for range 200 {
		list, _ := j.List(20, traffic.Filter{})
		for i := range list {
			if d := &list[i]; d.MessageID != d.URL || len(d.Request.Body) > 0 && !strings.HasPrefix(string(d.Request.Body), d.MessageID) {
				t.Errorf("message %q has the URL %q and the body %.20q", d.MessageID, d.URL, d.Request.Body)
			}
		}
	}
	writers.Wait()
}

// TestSmallJournals checks that an account with one request costs little: a server may
// have thousands.
func TestSmallJournals(t *testing.T) {
	t.Parallel()
	var j traffic.Exchanges
	j.CountIn(&engine.Ledger{})
	j.Add(&traffic.Exchange{Path: "/v2/keys", Response: traffic.Message{Status: 200}})
	if got, want := j.Observed(), int64(4<<10); got > want {
		t.Errorf("a journal with one request has %d bytes, want at most %d", got, want)
	}
}
