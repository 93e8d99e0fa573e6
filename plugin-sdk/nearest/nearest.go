package nearest

import "strings"

// maxLength is the maximum length of a compared word or name, in bytes. Longer ones match nothing.
const maxLength = 200

// Name returns the name most similar to word, "" if none is near. Near means at most one change per
// three letters, and at least one change is allowed; case is ignored. Of equally similar names,
// Name returns the alphabetically first.
func Name(word string, names []string) string {
	if word == "" || len(word) > maxLength {
		return ""
	}
	best, least := "", max(1, len([]rune(word))/3)+1
	for _, name := range names {
		if len(name) > maxLength {
			continue
		}
		if d := distance(word, name); d < least || d == least && best != "" && name < best {
			best, least = name, d
		}
	}
	return best
}

// distance returns the number of insertions, deletions, replacements and swaps of neighbours that
// turn a into b (optimal string alignment).
func distance(a, b string) int {
	left, right := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	rows := make([][]int, len(left)+1)
	for i := range rows {
		rows[i] = make([]int, len(right)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(left); i++ {
		for j := 1; j <= len(right); j++ {
			replaced := rows[i-1][j-1]
			if left[i-1] != right[j-1] {
				replaced++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replaced)
			if i > 1 && j > 1 && left[i-1] == right[j-2] && left[i-2] == right[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(left)][len(right)]
}
