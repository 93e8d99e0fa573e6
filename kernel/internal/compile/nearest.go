package compile

import (
	"fmt"
	"slices"
	"strings"
)

// nearest is the candidate most like name, "" if none is near: at most one edit for each three
// letters.
func nearest(name string, candidates []string) string {
	if name == "" {
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

// distance counts the insertions, deletions and replacements that turn a into b, case aside.
func distance(a, b string) int {
	left, right := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	row := make([]int, len(right)+1)
	for j := range row {
		row[j] = j
	}
	for i, l := range left {
		diagonal := row[0]
		row[0] = i + 1
		for j, r := range right {
			replaced := diagonal
			if l != r {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(row[j+1]+1, row[j]+1, replaced)
		}
	}
	return row[len(right)]
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
