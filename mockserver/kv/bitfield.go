package kv

import (
	"math/big"
	"strconv"
	"strings"
)

// bitField implements BITFIELD: integers of any width inside a string.
func bitField(e *embedded, c *connection, args []string) any {
	value := c.look("GET", args[0])
	if f, failed := value.(failure); failed {
		return f
	}
	text, _ := value.(string)
	f := &bits{data: []byte(text)}
	replies, changed, overflow := []any{}, false, "WRAP"
	for rest := args[1:]; len(rest) > 0; {
		name := strings.ToUpper(rest[0])
		n := map[string]int{"GET": 3, "INCRBY": 4, "OVERFLOW": 2, "SET": 4}[name]
		if n == 0 || len(rest) < n {
			return errSyntax
		}
		part := rest[1:n]
		rest = rest[n:]
		if name == "OVERFLOW" {
			overflow = strings.ToUpper(part[0])
			if !wordSet("FAIL SAT WRAP")[overflow] {
				return failure("ERR Invalid OVERFLOW type specified")
			}
			continue
		}
		if text := f.place(part[0], part[1]); text != "" {
			return failure(text)
		}
		was := f.get()
		if name == "GET" {
			replies = append(replies, was)
			continue
		}
		operand, err := strconv.ParseInt(part[2], 10, 64)
		if err != nil {
			return errInteger
		}
		wanted := big.NewInt(operand)
		if name == "INCRBY" {
			wanted.Add(wanted, big.NewInt(was))
		}
		next, ok := f.fit(wanted, overflow)
		if !ok {
			replies = append(replies, nil)
			continue
		}
		f.set(next)
		changed = true
		if name == "INCRBY" {
			was = f.get()
		}
		replies = append(replies, was)
	}
	if changed {
		if f, failed := e.do(c, []string{"SET", args[0], string(f.data), "KEEPTTL"}).(failure); failed {
			return f
		}
	}
	return replies
}

// bits is a string as bits, and the position of one integer in it.
type bits struct {
	data   []byte
	offset int
	width  int
	signed bool
}

// place sets the position by a type, such as u8 or i16, and an offset in bits or,
// after #, in integers of that width. It returns an error text, "" for none.
func (b *bits) place(kind, offset string) string {
	width, err := strconv.Atoi(kind[min(1, len(kind)):])
	b.signed = strings.HasPrefix(strings.ToLower(kind), "i")
	if err != nil || width < 1 || width > 64 || !b.signed && (width > 63 || !strings.HasPrefix(strings.ToLower(kind), "u")) {
		return "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."
	}
	number, factor := offset, 1
	if rest, ok := strings.CutPrefix(offset, "#"); ok {
		number, factor = rest, width
	}
	at, err := strconv.Atoi(number)
	if err != nil || at < 0 || at > maxRecord*8/factor-width {
		return "ERR bit offset is not an integer or out of range"
	}
	b.offset, b.width = at*factor, width
	return ""
}

// get reads bit by bit, because a field may begin within a byte. Bits after the data
// are 0.
func (b *bits) get() int64 {
	n := uint64(0)
	for i := b.offset; i < b.offset+b.width; i++ {
		n <<= 1
		if i/8 < len(b.data) {
			n |= uint64(b.data[i/8]>>(7-i%8)) & 1
		}
	}
	if b.signed && b.width < 64 && n>>(b.width-1) == 1 {
		return int64(n) - 1<<b.width
	}
	return int64(n)
}

// set extends the data if necessary. Bits outside the field do not change.
func (b *bits) set(value int64) {
	if need := (b.offset + b.width + 7) / 8; need > len(b.data) {
		b.data = append(b.data, make([]byte, need-len(b.data))...)
	}
	for i := range b.width {
		at := b.offset + b.width - 1 - i
		mask := byte(1) << (7 - at%8)
		b.data[at/8] &^= mask
		if uint64(value)>>i&1 == 1 {
			b.data[at/8] |= mask
		}
	}
}

// fit converts a number to the range of the type; false if overflow is FAIL.
func (b *bits) fit(n *big.Int, overflow string) (int64, bool) {
	size := new(big.Int).Lsh(big.NewInt(1), uint(b.width))
	low, high := new(big.Int), new(big.Int).Sub(size, big.NewInt(1))
	if b.signed {
		low.Neg(new(big.Int).Rsh(size, 1))
		high.Add(high, low)
	}
	switch {
	case n.Cmp(low) >= 0 && n.Cmp(high) <= 0:
		return n.Int64(), true
	case overflow == "FAIL":
		return 0, false
	case overflow == "SAT" && n.Cmp(low) < 0:
		return low.Int64(), true
	case overflow == "SAT":
		return high.Int64(), true
	}
	return new(big.Int).Add(low, n.Mod(n.Sub(n, low), size)).Int64(), true
}
