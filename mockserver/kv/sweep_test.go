package kv_test

import (
	"fmt"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"testing"
)

func BenchmarkSweep(b *testing.B) {
	for _, n := range []int{100, 10000, 100000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := newKV(b, kv.Config{Token: "secret"})
			for i := 0; i < n; i += 1000 {
				body := "["
				for j := 0; j < 1000; j++ {
					if j > 0 {
						body += ","
					}
					body += fmt.Sprintf(`["SET","k%d","v","EX",3600]`, i+j)
				}
				post(s, "/pipeline", body+"]")
			}
			b.ResetTimer()
			for range b.N {
				post(s, "/", `["GET","k1"]`)
			}
		})
	}
}
