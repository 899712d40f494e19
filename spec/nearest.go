package spec

import "strings"

// Nearest is the known word with the least distance to a word, whatever the
// case of both, and that distance. Without known words it is "".
func Nearest(word string, known []string) (best string, least int) {
	least = len(word)
	for _, k := range known {
		if d := Distance(strings.ToLower(word), strings.ToLower(k)); best == "" || d < least {
			best, least = k, d
		}
	}
	return best, least
}

// Distance is the number of letters to change, add or take away.
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
