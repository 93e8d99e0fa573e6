package tool

import (
	"errors"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// applyDiff applies a unified diff of one file to a text. Which file the diff names does not matter; it must be one, and
// only its text may change. With again, a diff that was applied before is found out by taking it back.
func applyDiff(before, unified string, again bool) (after string, applied bool, err error) {
	file, err := parseDiff(unified)
	if err != nil {
		return "", false, err
	}
	if after, err = patch(before, file); err == nil {
		return after, false, nil
	}
	if again {
		if _, back := patch(before, reversed(file)); back == nil {
			return before, true, nil
		}
	}
	return "", false, failed("the diff does not fit the file: %v; read the file again, or use edits", err)
}

func parseDiff(unified string) (*gitdiff.File, error) {
	if !strings.HasSuffix(unified, "\n") {
		unified += "\n"
	}
	if strings.HasPrefix(unified, "@@ ") {
		unified = "--- a/file\n+++ b/file\n" + unified
	}
	files, _, err := gitdiff.Parse(strings.NewReader(unified))
	switch {
	case err != nil:
		return nil, failed("the diff cannot be read: %v; the numbers after @@ must count the lines that follow, or use edits", err)
	case len(files) != 1:
		return nil, failed("the diff is of %d files; one is wanted", len(files))
	}
	file := files[0]
	if file.IsBinary || file.IsDelete || file.IsNew || file.IsRename || file.IsCopy || file.NewMode != 0 || len(file.TextFragments) == 0 {
		return nil, failed("the diff does more than change text; use write_file or delete_file")
	}
	return file, nil
}

// patch applies the fragments.
func patch(before string, file *gitdiff.File) (string, error) {
	var after strings.Builder
	if err := gitdiff.Apply(&after, strings.NewReader(before), file); err != nil {
		var conflict *gitdiff.Conflict
		if errors.As(err, &conflict) {
			return "", conflict
		}
		return "", err
	}
	return after.String(), nil
}

// reversed is the diff that takes a diff back.
func reversed(file *gitdiff.File) *gitdiff.File {
	back := *file
	back.TextFragments = make([]*gitdiff.TextFragment, len(file.TextFragments))
	for i, f := range file.TextFragments {
		r := *f
		r.OldPosition, r.NewPosition = f.NewPosition, f.OldPosition
		r.OldLines, r.NewLines = f.NewLines, f.OldLines
		r.LinesAdded, r.LinesDeleted = f.LinesDeleted, f.LinesAdded
		r.Lines = make([]gitdiff.Line, len(f.Lines))
		for j, line := range f.Lines {
			switch line.Op {
			case gitdiff.OpAdd:
				line.Op = gitdiff.OpDelete
			case gitdiff.OpDelete:
				line.Op = gitdiff.OpAdd
			}
			r.Lines[j] = line
		}
		back.TextFragments[i] = &r
	}
	return &back
}
