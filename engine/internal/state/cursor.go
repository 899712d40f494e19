package state

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// Sequenced is an entry of a list. Lists are in the order of Position.
type Sequenced interface {
	comparable
	Position() Position
}

// Cursor refers to the entry after which a list continues. It contains a mark of the
// account and the list, so that a foreign or damaged cursor is recognised.
func (g *IDs) Cursor(list string, p Position) string {
	return strconv.FormatInt(p.at, 10) + "-" + strconv.FormatUint(p.seq, 10) + "-" + strconv.FormatUint(g.mark(list, p), 36)
}

// mark is a keyed checksum that ties a cursor to its list and account. It detects mistakes
// of clients and protects no data: the account can read its lists anyway.
func (g *IDs) mark(list string, p Position) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %d %d %d", list, p.at, p.seq, g.Secret) // never fails
	return h.Sum64() >> 24
}

// Position returns the position that a cursor stands for; NewestPosition for an empty cursor.
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
