// Package similar finds the known word that a reader probably meant by an unknown one.
package similar

import (
	"fmt"
	"strings"
)

// Nearest returns the known word with the smallest distance to word, ignoring case,
// and the distance. Of two it takes the one of a more similar length. It returns "" when known is empty.
func Nearest(word string, known []string) (best string, least int) {
	least = len(word)
	for _, k := range known {
		d := Distance(strings.ToLower(word), strings.ToLower(k))
		if best == "" || d < least || d == least && apart(word, k) < apart(word, best) {
			best, least = k, d
		}
	}
	return best, least
}

// exchanged reports whether two words differ in the order of two neighbouring letters.
func exchanged(a, b string) bool {
	for i := range len(a) - 1 {
		if a[:i]+a[i+1:i+2]+a[i:i+1]+a[i+2:] == b {
			return true
		}
	}
	return false
}

// apart is the difference of two lengths: words with exchanged letters have none.
func apart(a, b string) int { return max(len(a)-len(b), len(b)-len(a)) }

// DidYouMean returns a question for the end of an error text about an unknown word, such as
// `; did you mean "clock"?`. It returns "" when no known word is close enough.
func DidYouMean(word string, known []string) string {
	near, distance := Nearest(word, known)
	if distance > 2 || distance == 2 && len(word) < 4 && !exchanged(word, near) {
		near = beginning(word, known)
	}
	if near == "" || near == word {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}

// beginning returns the only known word that starts with word, but for its last letter, or with which
// word starts.
func beginning(word string, known []string) (found string) {
	word = strings.ToLower(word)
	for _, k := range known {
		if lower := strings.ToLower(k); min(len(lower), len(word)) >= 3 && (strings.HasPrefix(lower, word[:max(3, len(word)-1)]) || strings.HasPrefix(word, lower)) {
			if found != "" {
				return ""
			}
			found = k
		}
	}
	return found
}

// Distance is the edit distance of two texts in bytes: changes, insertions and deletions.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
