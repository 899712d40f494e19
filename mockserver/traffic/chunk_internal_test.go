package traffic

import (
	"bytes"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/engine"
)

// filled is a journal that drops an entry for each new one.
func filled() *Deliveries {
	j := &Deliveries{}
	j.CountIn(&engine.Ledger{})
	for range Limit {
		j.Add(&Delivery{URL: "https://e.test/" + strings.Repeat("a", 100)})
	}
	return j
}

// replace adds entries until the oldest n chunks are dropped.
func (j *Deliveries) replace(n int) {
	for last := j.chunks[n-1]; j.chunks[0] != last; {
		j.Add(&Delivery{URL: "https://e.test/" + strings.Repeat("b", 100)})
	}
	for first := j.chunks[0]; j.chunks[0] == first; {
		j.Add(&Delivery{URL: "https://e.test/" + strings.Repeat("b", 100)})
	}
}

func TestBytesOfDroppedChunks(t *testing.T) {
	t.Parallel()
	const small = 6 // chunks before those of the usual size
	t.Run("are used again", func(t *testing.T) {
		t.Parallel()
		j := filled()
		j.replace(small)
		want := &j.chunks[0].bytes[0]
		j.replace(3)
		for _, c := range j.chunks {
			if &c.bytes[0] == want {
				return
			}
		}
		t.Error("no chunk has the bytes of a dropped one")
	})
	t.Run("stay unchanged after a reader has found a record", func(t *testing.T) {
		t.Parallel()
		j := filled()
		j.replace(small)
		found, _, _ := j.following(0, &Filter{})
		if len(found) == 0 {
			t.Fatal("found no record")
		}
		want := bytes.Clone(found[0].fields)
		j.replace(4)
		if got := found[0].fields; !bytes.Equal(got, want) {
			t.Errorf("fields of the record: got %.60q, want %.60q", got, want)
		}
	})
	t.Run("are freed by Forget", func(t *testing.T) {
		t.Parallel()
		j := filled()
		j.replace(small + 1)
		j.Forget(1)
		if j.spare != nil {
			t.Error("the journal keeps spare bytes")
		}
	})
}
