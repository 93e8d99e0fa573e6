package tool

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

type modifyArgs struct {
	Path   string
	Edits  []edit
	Diff   string
	Reason string
}

// edit replaces one text with another.
type edit struct {
	Old, New string
	All      bool
}

type modifyResult struct {
	Path         string      `json:"path"`
	Status       string      `json:"status"`
	Replacements int         `json:"replacements,omitempty"`
	Diff         string      `json:"diff,omitempty"`
	Truncated    *truncation `json:"truncated,omitempty"`
}

func (a modifyArgs) prepare(s *Set, p *PreparedCall) error {
	if (len(a.Edits) == 0) == (a.Diff == "") {
		return InvalidArgs("/: give exactly one of edits and diff")
	}
	if size := a.size(); size > maxContent {
		return InvalidArgs("/: has %d bytes of text, more than %d", size, maxContent)
	}
	file, err := s.locateWritable(a.Path, false)
	if err != nil {
		return err
	}
	c, err := a.apply(file, p.again)
	if err != nil {
		return err
	}
	p.Effect, p.Category, p.Paths, p.Reason = sdk.EffectIdempotent, sdk.CategoryFileWrite, []string{file.rel}, a.Reason
	p.Preview = s.preview(file.rel, []byte(c.before), true, []byte(c.after))
	p.run = func(context.Context) (outcome, error) { return s.modifyFile(file, a, p.again) }
	return nil
}

func (a modifyArgs) size() int {
	size := len(a.Diff)
	for _, e := range a.Edits {
		size += len(e.Old) + len(e.New)
	}
	return size
}

// change is the effect of a call on a file.
type change struct {
	before, after string
	count         int  // replacements
	applied       bool // the file had all changes already
}

// apply computes the change from the current content of the file.
func (a modifyArgs) apply(file fileRef, again bool) (change, error) {
	content, err := file.load()
	if err != nil {
		return change{}, fileError(file.rel, err)
	}
	c := change{before: string(content)}
	if a.Diff != "" {
		c.after, c.applied, err = applyDiff(c.before, a.Diff, again)
	} else {
		err = c.applyEdits(a.Edits, again)
	}
	if err != nil {
		return change{}, fmt.Errorf("%s: %w", file.rel, err)
	}
	if len(c.after) > maxFile {
		return change{}, newFailure("%s would have %d bytes, more than %d", file.rel, len(c.after), maxFile)
	}
	return c, checkMarks(c.before, c.after)
}

// applyEdits makes the edits in order. With again, an edit whose result is in the file counts as made before.
func (c *change) applyEdits(edits []edit, again bool) error {
	c.after = c.before
	done := 0
	for i, e := range edits {
		n := strings.Count(c.after, e.Old)
		switch {
		case e.Old == e.New:
			return newFailure("edit %d changes nothing: old and new are the same", i+1)
		case again && isApplied(c.after, e, n):
			done++
			continue
		case n == 0:
			return newFailure("edit %d: its old text is not in the file; read the file again and copy it exactly", i+1)
		case n > 1 && !e.All:
			return newFailure("edit %d: its old text is in the file %d times; give more of the text around it, or set all", i+1, n)
		}
		if len(c.after)+n*(len(e.New)-len(e.Old)) > maxFile {
			return newFailure("edit %d would make the file longer than %d bytes", i+1, maxFile)
		}
		c.after, c.count = strings.ReplaceAll(c.after, e.Old, e.New), c.count+n
	}
	c.applied = done == len(edits)
	return nil
}

// isApplied reports whether an edit was made before: text has the new part, and the old part only within the new part.
func isApplied(text string, e edit, found int) bool {
	if e.New == "" {
		return found == 0
	}
	return strings.Contains(text, e.New) && found == strings.Count(text, e.New)*strings.Count(e.New, e.Old)
}

func (s *Set) modifyFile(file fileRef, a modifyArgs, again bool) (outcome, error) {
	c, err := a.apply(file, again)
	if err != nil {
		return outcome{}, err
	}
	result := modifyResult{Path: file.rel, Status: "already applied"}
	if c.applied {
		return outcome{data: result}, nil
	}
	if err := file.save([]byte(c.after)); err != nil {
		return outcome{}, fileError(file.rel, err)
	}
	result.Status, result.Replacements = "modified", c.count
	if !binary([]byte(c.before)) {
		result.Diff, result.Truncated = cutMiddle(s.diff(file.rel, []byte(c.before), []byte(c.after)), min(s.maxBytes(), sdk.MaxPreview))
	}
	return outcome{data: result, changed: []string{file.rel}}, nil
}
