package kv

import (
	"container/heap"
	"time"
)

// expiry has the keys that expire, the earliest first: the cost of a command depends on the
// keys that it names and on those that expire with it, not on how many there are.
type expiry struct {
	keys  map[string]*expiring
	order expiringKeys
}

type expiring struct {
	key   string
	at    time.Time
	place int // in order
}

func newExpiry() expiry { return expiry{keys: map[string]*expiring{}} }

// set records the time to live that a key has at a time; 0 for none.
func (x *expiry) set(key string, now time.Time, ttl time.Duration) {
	k, known := x.keys[key]
	switch at := now.Add(ttl); {
	case ttl == 0 && known:
		delete(x.keys, key)
		heap.Remove(&x.order, k.place)
	case ttl == 0:
	case !known:
		x.keys[key] = &expiring{key: key, at: at}
		heap.Push(&x.order, x.keys[key])
	default:
		k.at = at
		heap.Fix(&x.order, k.place)
	}
}

// next removes the earliest key that has expired and returns it; false for none.
func (x *expiry) next(now time.Time) (string, bool) {
	if len(x.order) == 0 || x.order[0].at.After(now) {
		return "", false
	}
	k := heap.Pop(&x.order).(*expiring)
	delete(x.keys, k.key)
	return k.key, true
}

// expiringKeys is a heap, for package container/heap.
type expiringKeys []*expiring

func (o expiringKeys) Len() int           { return len(o) }
func (o expiringKeys) Less(i, j int) bool { return o[i].at.Before(o[j].at) }

func (o expiringKeys) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].place, o[j].place = i, j
}

func (o *expiringKeys) Push(k any) {
	one := k.(*expiring)
	one.place = len(*o)
	*o = append(*o, one)
}

func (o *expiringKeys) Pop() any {
	last := len(*o) - 1
	k := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	return k
}
