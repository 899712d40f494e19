package state

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// Sequenced is what lists hold: entries in the order of their position.
type Sequenced interface {
	comparable
	Position() Position
}

// Cursor names the entry after which a list goes on. It carries a mark of the
// account and the list, so that a foreign or damaged one is recognised.
func (g *IDs) Cursor(list string, p Position) string {
	return strconv.FormatInt(p.at, 10) + "-" + strconv.FormatUint(p.seq, 10) + "-" + strconv.FormatUint(g.mark(list, p), 36)
}

// mark binds a cursor to its list and account by a secret. It is no protection of data,
// which the account has anyway: it finds mistakes of clients.
func (g *IDs) mark(list string, p Position) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %d %d %d", list, p.at, p.seq, g.Secret) // never fails
	return h.Sum64() >> 24
}

// Position is what a cursor stands for; an empty one for the newest.
func (g *IDs) Position(list, cursor string) (Position, error) {
	if cursor == "" {
		return NewestPosition, nil
	}
	at, rest, _ := strings.Cut(cursor, "-")
	number, mark, _ := strings.Cut(rest, "-")
	ms, err := strconv.ParseInt(at, 10, 64)
	seq, bad := strconv.ParseUint(number, 10, 64)
	p := Position{ms, seq}
	if err != nil || bad != nil || mark != strconv.FormatUint(g.mark(list, p), 36) {
		return Position{}, refusal.OfValue("cursor", cursor, "", "the cursor of an earlier page of this list")
	}
	return p, nil
}
