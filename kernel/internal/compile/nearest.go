package compile

import (
	"fmt"
	"slices"
	"strings"
)

// nearest is the candidate most like name, "" if none is near: at most one edit for each three
// letters.
func nearest(name string, candidates []string) string {
	if name == "" || len(name) > maxNameBytes {
		return ""
	}
	best, bestDistance := "", max(1, len([]rune(name))/3)+1
	for _, c := range candidates {
		if d := distance(name, c); d < bestDistance || d == bestDistance && best != "" && c < best {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b,
// case aside (optimal string alignment).
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

// didYouMean is the hint for a wrong name: the nearest one and what there is.
func didYouMean(name string, candidates []string) string {
	near := nearest(name, candidates)
	switch {
	case near != "" && len(candidates) > 1:
		return fmt.Sprintf("did you mean %q? available: %s", near, strings.Join(candidates, ", "))
	case near != "":
		return fmt.Sprintf("did you mean %q?", near)
	case len(candidates) == 0:
		return "none is available"
	default:
		return "available: " + strings.Join(candidates, ", ")
	}
}

// sortedUnique sorts in place and drops repetitions and empty strings.
func sortedUnique(list []string) []string {
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	slices.Sort(list)
	return slices.Compact(list)
}
