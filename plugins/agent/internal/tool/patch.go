package tool

import (
	"errors"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// applyDiff applies a unified diff of one file to a text. The name of the file is ignored; the diff may only change text.
// With again, a diff whose new lines are in the text already counts as applied.
func applyDiff(before, unified string, again bool) (after string, applied bool, err error) {
	hunks, err := parseDiff(unified)
	if err != nil {
		return "", false, err
	}
	if again {
		if _, err := applyHunks(before, reverseHunks(hunks)); err == nil {
			return before, true, nil
		}
	}
	after, err = applyHunks(before, hunks)
	return after, false, err
}

// maxHunks limits the hunks of a diff, because each hunk with a wrong line number costs a search of the whole file.
const maxHunks = 200

// hunk replaces lines. Lines include their line ends.
type hunk struct {
	before, after     []string
	atBefore, atAfter int // expected index of the first line, from 0
}

// parseDiff parses a unified diff that only changes the text of one file.
func parseDiff(unified string) ([]hunk, error) {
	if !strings.HasSuffix(unified, "\n") {
		unified += "\n"
	}
	if strings.HasPrefix(unified, "@@ ") {
		unified = "--- a/file\n+++ b/file\n" + unified
	}
	files, _, err := gitdiff.Parse(strings.NewReader(unified))
	switch {
	case err != nil:
		return nil, newFailure("the diff cannot be parsed: %v; the numbers after @@ must count the lines that follow, or use edits", err)
	case len(files) != 1:
		return nil, newFailure("the diff changes %d files, want 1", len(files))
	}
	file := files[0]
	if file.IsBinary || file.IsDelete || file.IsNew || file.IsRename || file.IsCopy || file.NewMode != 0 || len(file.TextFragments) == 0 {
		return nil, newFailure("the diff does more than change text; use write_file or delete_file")
	}
	if len(file.TextFragments) > maxHunks {
		return nil, newFailure("the diff has %d hunks, more than %d; use write_file", len(file.TextFragments), maxHunks)
	}
	hunks := make([]hunk, len(file.TextFragments))
	for i, fragment := range file.TextFragments {
		hunks[i] = newHunk(fragment)
	}
	return hunks, nil
}

func newHunk(f *gitdiff.TextFragment) hunk {
	h := hunk{atBefore: int(f.OldPosition) - 1, atAfter: int(f.NewPosition) - 1}
	for _, line := range f.Lines {
		if line.Old() {
			h.before = append(h.before, line.Line)
		}
		if line.New() {
			h.after = append(h.after, line.Line)
		}
	}
	if len(h.before) == 0 { // then the position is the line before the hunk
		h.atBefore++
	}
	if len(h.after) == 0 {
		h.atAfter++
	}
	return h
}

// applyHunks applies the hunks in order. Models miscount lines: a hunk that does not fit at its line number is applied at
// the only other place where it fits.
func applyHunks(before string, hunks []hunk) (string, error) {
	lines := strings.SplitAfter(before, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var after strings.Builder
	next := 0
	for i, h := range hunks {
		at, err := h.find(lines, next)
		if err != nil {
			return "", newFailure("hunk %d of the diff %s; read the file again, or use edits", i+1, err)
		}
		for _, line := range slices.Concat(lines[next:at], h.after) {
			after.WriteString(line)
		}
		next = at + len(h.before)
	}
	for _, line := range lines[next:] {
		after.WriteString(line)
	}
	return after.String(), nil
}

// find returns the index of the hunk's lines, from next on.
func (h hunk) find(lines []string, next int) (int, error) {
	last := len(lines) - len(h.before)
	if h.atBefore >= next && h.atBefore <= last && slices.Equal(lines[h.atBefore:h.atBefore+len(h.before)], h.before) {
		return h.atBefore, nil
	}
	var found []int
	for at := next; at <= last && len(h.before) > 0; at++ {
		if slices.Equal(lines[at:at+len(h.before)], h.before) {
			found = append(found, at)
		}
	}
	switch len(found) {
	case 0:
		return 0, errors.New("does not fit the file: its lines are missing")
	case 1:
		return found[0], nil
	default:
		return 0, errors.New("has the wrong line number, and its lines occur more than once")
	}
}

// reverseHunks returns the hunks that undo a diff.
func reverseHunks(hunks []hunk) []hunk {
	back := make([]hunk, len(hunks))
	for i, h := range hunks {
		back[i] = hunk{before: h.after, after: h.before, atBefore: h.atAfter, atAfter: h.atBefore}
	}
	return back
}
