package kv_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/mockserver/kv"
)

// BenchmarkSweep reads a key among many that expire: at each new millisecond
// the embedded store checks all of them.
func BenchmarkSweep(b *testing.B) {
	for _, keys := range []int{100, 10_000} {
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			s := newKV(b, kv.Config{Token: "secret"})
			var all []string
			for i := range keys {
				all = append(all, fmt.Sprintf(`["SET","k%d","v","EX",3600]`, i))
			}
			post(s, "/pipeline", "["+strings.Join(all, ",")+"]")
			for b.Loop() {
				post(s, "/", `["GET","k1"]`)
			}
		})
	}
}
