package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// These are the limits for texts.
const (
	maxText      = 64 << 10 // bytes of one text
	maxDiffLines = 120
	maxReads     = 500 // outputs of each session that are read; other outputs are compared by their digests
)

// texts returns the outputs and artifacts that differ.
func texts(a, b *Snapshot) []Text {
	t := textComparison{a: a, b: b}
	for _, l := range a.ordered() {
		if b.loops[l] != nil {
			t.compareLoop(l)
		}
	}
	t.compareArtifacts()
	return t.differing
}

// ordered returns the loops: nodes in the order of their first output, providers by name, because they work at the same
// time.
func (s *Snapshot) ordered() []loop {
	first := map[string]int{}
	for i, l := range s.order {
		if _, known := first[l.node]; !known {
			first[l.node] = i
		}
	}
	return slices.SortedStableFunc(slices.Values(s.order), func(a, b loop) int {
		return cmp.Or(
			cmp.Compare(first[a.node], first[b.node]), cmp.Compare(a.run, b.run), cmp.Compare(a.visit, b.visit), cmp.Compare(a.provider, b.provider),
		)
	})
}

// textComparison compares the texts of two sessions.
type textComparison struct {
	a, b      *Snapshot
	differing []Text
	reads     int
}

// compareLoop compares the outputs of a loop. It adds the first output that differs, and the last output if it differs.
func (t *textComparison) compareLoop(l loop) {
	a, b := t.a.loops[l], t.b.loops[l]
	text := Text{Node: l.node, Provider: l.provider, Step: l.step, Kind: "output", Visit: l.visit}
	var first *Text
	differ := 0
	for _, i := range slices.Sorted(maps.Keys(a.refs)) {
		ref, both := b.refs[i]
		if !both || a.last == i && b.last == i {
			continue
		}
		text.Iterations = [2]int{i, i}
		if d := t.compareOutputs(text, a.refs[i], ref, first == nil); d != nil {
			if differ++; first == nil {
				first = d
			}
		}
	}
	text.Iterations = [2]int{a.last, b.last}
	last := t.compareOutputs(text, a.refs[a.last], b.refs[b.last], true)
	if first != nil {
		first.More = differ - 1
		t.differing = append(t.differing, *first)
	}
	if last != nil {
		t.differing = append(t.differing, *last)
	}
}

// compareOutputs compares two outputs and returns nil if they are equal. It adds the diff only if withDiff is true.
func (t *textComparison) compareOutputs(text Text, a, b event.Ref, withDiff bool) *Text {
	if a.SHA256 == b.SHA256 && a.SHA256 != "" {
		return nil
	}
	text.Files = [2]string{a.Path, b.Path}
	if t.reads++; t.reads > maxReads && !withDiff {
		return &text
	}
	aText, aWhole, aErr := ReadText(t.a.Read, a.Path, maxText, t.a.normalize)
	bText, bWhole, bErr := ReadText(t.b.Read, b.Path, maxText, t.b.normalize)
	switch err := cmp.Or(aErr, bErr); {
	case err != nil:
		text.Problem = err.Error()
		return &text
	case withDiff:
		return diff(text, aText, bText, aWhole && bWhole)
	case aText == bText && aWhole && bWhole:
		return nil
	default:
		return &text
	}
}

// ReadText reads a text of at most limit bytes and cleans it; whole reports that it is not truncated. It reads 4 KiB more,
// because redaction does not match half a secret.
func ReadText(read func(path string, limit int64) (string, bool, error), path string, limit int, clean func(string) string) (text string, whole bool, err error) {
	text, whole, err = read(path, int64(limit)+4<<10)
	if text = clean(text); len(text) > limit {
		return strings.ToValidUTF8(text[:limit], ""), false, err
	}
	return text, whole, err
}

// diff returns the difference of two texts, nil for none.
func diff(text Text, a, b string, whole bool) *Text {
	if a == b {
		if whole {
			return nil
		}
		text.Problem, text.Cut = fmt.Sprintf("they differ after their first %d bytes", maxText), true
		return &text
	}
	lines, cut := UnifiedDiff(a, b)
	if len(lines) == 0 { // only the last line end differs
		return nil
	}
	text.Diff, text.Cut = strings.Join(lines, ""), cut || !whole
	return &text
}

// UnifiedDiff returns the lines of a unified diff with their line ends and without the names, at most 120; cut reports
// that there are more. Texts that differ only in their last line end are equal.
func UnifiedDiff(a, b string) (lines []string, cut bool) {
	a, b = strings.TrimSuffix(a, "\n")+"\n", strings.TrimSuffix(b, "\n")+"\n"
	lines = slices.Collect(strings.Lines(udiff.Unified("", "", a, b)))
	lines = lines[min(2, len(lines)):]
	return lines[:min(maxDiffLines, len(lines))], len(lines) > maxDiffLines
}

// compareArtifacts compares the latest artifact of each node.
func (t *textComparison) compareArtifacts() {
	a, aOrder := t.a.latestArtifacts()
	b, bOrder := t.b.latestArtifacts()
	for _, name := range slices.Concat(aOrder, slices.DeleteFunc(bOrder, func(name string) bool { return a[name] != nil })) {
		if d := t.compareArtifact(a[name], b[name]); d != nil {
			t.differing = append(t.differing, *d)
		}
	}
}

// latestArtifacts returns the latest artifacts by label and provider, without the run's input, which inputs compares.
func (s *Snapshot) latestArtifacts() (all map[string]*engine.ArtifactInfo, order []string) {
	all = map[string]*engine.ArtifactInfo{}
	for i := range s.Inspection.Artifacts {
		a := &s.Inspection.Artifacts[i]
		if a.Latest && a.Node != plan.RequiresStart {
			name := s.labels[a.Path] + "\x00" + a.Provider
			all[name], order = a, append(order, name)
		}
	}
	return all, order
}

func (t *textComparison) compareArtifact(a, b *engine.ArtifactInfo) *Text {
	text := Text{Kind: "artifact"}
	if a != nil {
		text.Node, text.Provider, text.Files[0] = t.a.labels[a.Path], a.Provider, t.a.inside(a.File)
	}
	if b != nil {
		text.Node, text.Provider, text.Files[1] = t.b.labels[b.Path], b.Provider, t.b.inside(b.File)
	}
	if a == nil || b == nil {
		return &text
	}
	if a.SHA256 == b.SHA256 && a.SHA256 != "" {
		return nil
	}
	aText, aWhole, aErr := t.a.body(*a)
	bText, bWhole, bErr := t.b.body(*b)
	if err := cmp.Or(aErr, bErr); err != nil {
		text.Problem = err.Error()
		return &text
	}
	return diff(text, aText, bText, aWhole && bWhole)
}

// inside returns a path relative to the session's directory.
func (s *Snapshot) inside(file string) string {
	return strings.TrimPrefix(strings.TrimPrefix(file, s.Inspection.Status.Dir), "/")
}

// body returns the data of an artifact without its envelope.
func (s *Snapshot) body(a engine.ArtifactInfo) (text string, whole bool, err error) {
	return ReadText(func(string, int64) (string, bool, error) {
		content, err := s.Artifact(a)
		if err != nil {
			return "", false, err
		}
		data := maps.Clone(content.Data)
		delete(data, "_metadata")
		b, err := json.MarshalIndent(data, "", "  ")
		return string(b) + "\n", true, err
	}, a.File, maxText, s.normalize)
}
