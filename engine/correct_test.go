package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// numbersOf are the numbers of a JSON value by path, and everything else as text.
func numbersOf(t *testing.T, text []byte) (numbers map[string]json.Number, rest map[string]string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var document any
	expect.NoError(t, d.Decode(&document))
	numbers, rest = map[string]json.Number{}, map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				walk(path+"."+name, member)
			}
		case []any:
			for i, element := range v {
				walk(fmt.Sprintf("%s.%d", path, i), element)
			}
		case json.Number:
			numbers[path] = v
		default:
			rest[path] = fmt.Sprint(v)
		}
	}
	walk("", document)
	return numbers, rest
}

// movedMembers are the members with a time in the snapshots of the lives below.
const movedMembers = "at createdAt deadline due endedAt last next nextAt notBefore now pausedAt ready starts time until updatedAt waitDeadline"

// TestAMoveOfTimeMovesEveryTimeOfTheStateAndNothingElse compares the documents of lives before
// and after a move. A time is a number after the year 2020 in ms, or a minute of the usage.
func TestAMoveOfTimeMovesEveryTimeOfTheStateAndNothingElse(t *testing.T) {
	t.Parallel()
	const by = -(400*24*time.Hour + 1234*time.Millisecond)
	moved := map[string]bool{}
	for seed := range uint64(12) {
		s := begun(t, seed, 3)
		s.names = slices.DeleteFunc(slices.Clone(actNames), func(name string) bool { return name == "setClock" }) // the clock stays manual
		s.must(s.fixture())
		s.some(150)
		s.settleAll()
		before, rest := numbersOf(t, s.document())
		s.must(engine.MoveTime(s.Account, by))
		after, restAfter := numbersOf(t, s.document())
		s.must(s.Close())
		s.must(s.replayed(3))
		if !maps.Equal(rest, restAfter) {
			t.Errorf("seed %d: a value other than a number has changed", seed)
		}
		expect.Equal(t, "numbers", len(after), len(before))
		for path, was := range before {
			x, _ := was.Float64()
			y, _ := after[path].Float64()
			want := 0.0
			switch {
			case path == ".lsn":
				want = 1
			case strings.HasPrefix(path, ".usage."):
				if strings.HasSuffix(path, ".at") {
					want = -400*24*60 - 1
				}
			case x > 1.57e12:
				want = float64(by / time.Millisecond)
				parts := slices.DeleteFunc(strings.Split(path, "."), func(part string) bool { return strings.Trim(part, "0123456789") == "" })
				moved[parts[len(parts)-1]] = true
			}
			if y-x != want {
				t.Errorf("seed %d: %s moves from %s to %s, want by %v", seed, path, was, after[path], want)
			}
		}
	}
	expect.Equal(t, "members that were moved", strings.Join(slices.Sorted(maps.Keys(moved)), " "), movedMembers)
}

// TestAClockThatIsAheadIsCorrected has clocks of both kinds.
func TestAClockThatIsAheadIsCorrected(t *testing.T) {
	t.Parallel()
	ahead := func(t *testing.T) *world {
		return setup(t, func(c *engine.Config) { c.Clock = clock.NewManual(clock.NewReal().Now().Add(48 * time.Hour)) })
	}
	left := func(w *world, id string) time.Duration {
		m, err := w.Message(id)
		w.must(err)
		return m.NotBefore.Time().Sub(w.Now())
	}
	t.Run("and a message keeps its remaining wait", func(t *testing.T) {
		t.Parallel()
		w := ahead(t)
		id, later := w.publish(engine.Options{Delay: 200 * time.Millisecond}), w.publish(engine.Options{Delay: time.Hour})
		w.must(w.SetClock(clock.NewReal(), false))
		wait := left(w, later)
		w.must(w.CorrectClock())
		if now, wall := w.Now(), clock.NewReal().Now(); now.After(wall) {
			t.Errorf("time: got %s, want at most %s", now, wall)
		}
		if got := left(w, later); got > wait || got < wait-time.Minute {
			t.Errorf("remaining wait: got %s, want %s", got, wait)
		}
		w.wait(id, "DELIVERED")
	})
	t.Run("but not if it is manual", func(t *testing.T) {
		t.Parallel()
		w := ahead(t)
		before := w.Now()
		expect.True(t, "a correction of a manual clock is ErrInvalid", errors.Is(w.CorrectClock(), engine.ErrInvalid))
		expect.Equal(t, "time", w.Now(), before)
	})
	t.Run("and one that is not ahead stays as it is, without a record", func(t *testing.T) {
		t.Parallel()
		j := &flakyJournal{}
		a := openWith(t, j)
		defer a.Close()
		expect.NoError(t, a.SetClock(clock.NewReal(), false))
		expect.NoError(t, a.CorrectClock())
		expect.Equal(t, "kind of the last record", j.last.Kind, "setClock")
	})
}
