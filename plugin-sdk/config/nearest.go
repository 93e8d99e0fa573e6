package config

import "strings"

// Nearest is the word of known that is most like word, "" if none is near: at most one change for
// every three letters, case not counted. Of equally near words the first is taken.
func Nearest(word string, known []string) string {
	best, limit := "", 1+len(word)/3
	for _, candidate := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(candidate)); d < limit || d == limit && best == "" {
			best, limit = candidate, d
		}
	}
	return best
}

// distance is the number of single-letter insertions, deletions and substitutions between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
