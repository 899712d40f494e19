package state

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// Held turns that are held again in the order of All start in the same order: a snapshot saves
// nothing else of the shares.
func TestHeldTurnsKeepTheirOrderInASnapshot(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		var live Shares
		running := []*Message{}
		turn := func() {
			m := &Message{ID: fmt.Sprint(random.Uint64()), URL: fmt.Sprintf("https://h%d.test/%d", random.IntN(3), random.IntN(3))}
			live.Hold(live.Of(m.URL), ReadyTurn{Message: m})
		}
		step := func(s *Shares, n, free int) string {
			if n > 0 && len(running) > 0 {
				m := running[n%len(running)]
				s.Count(s.Of(m.URL), -1)
			}
			next, ok := s.Next(free)
			if !ok {
				return ""
			}
			s.Count(s.Of(next.Message.URL), 1)
			return next.Message.ID
		}
		for range 30 {
			turn()
			if next, ok := live.Next(1 + random.IntN(6)); ok {
				live.Count(live.Of(next.Message.URL), 1)
				running = append(running, next.Message)
			}
			if len(running) > 4 {
				live.Count(live.Of(running[0].URL), -1)
				running = running[1:]
			}
		}
		var again Shares
		for _, m := range running {
			again.Count(again.Of(m.URL), 1)
		}
		live.All(func(t ReadyTurn) { again.Hold(again.Of(t.Message.URL), t) })
		for i := range 20 {
			n, free := i%3, 1+random.IntN(6)
			want := step(&live, n, free)
			got := step(&again, n, free)
			if n > 0 && len(running) > 0 {
				running = append(running[:n%len(running)], running[n%len(running)+1:]...)
			}
			if !expect.Equal(t, fmt.Sprintf("seed %d, turn %d", seed, i), got, want) {
				return
			}
		}
	}
}
