package crashtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Difference is one difference between two outcomes.
type Difference struct {
	// Where is a file name in the session's directory, or "events: " with the type and location of an event.
	Where string `json:"where"`
	// Path is the differing member ("data.summary", "stages.0.status", "line 3"), "" for the whole value.
	Path string `json:"path,omitempty"`
	// Want is the expected and Got the actual value, each cut to one line; "" if absent.
	Want string `json:"want,omitempty"`
	Got  string `json:"got,omitempty"`
}

// String formats the difference as one line.
func (d Difference) String() string {
	at := d.Where
	if d.Path != "" {
		at += ", " + d.Path
	}
	switch {
	case d.Want == "":
		return fmt.Sprintf("%s: unexpected: %s", at, d.Got)
	case d.Got == "":
		return fmt.Sprintf("%s: missing: %s", at, d.Want)
	default:
		return fmt.Sprintf("%s: expected %s, got %s", at, d.Want, d.Got)
	}
}

// eventsPrefix begins the Where of an event's difference.
const eventsPrefix = "events: "

// Diff returns the differences of got from the expected outcome o: events first, in order, then files by
// name.
func (o Outcome) Diff(got Outcome) []Difference {
	var all []Difference
	for _, name := range unionKeys(o.sequences, got.sequences) {
		all = append(all, diffEvents(o.sequences[name], got.sequences[name])...)
	}
	return append(all, diffFiles(o.files, got.files)...)
}

func diffFiles(want, got map[string]any) []Difference {
	var all []Difference
	for _, name := range unionKeys(want, got) {
		all = append(all, diffMember(name, "", member(want, name), member(got, name))...)
	}
	return all
}

// diffEvents pairs the events by name; unpaired ones are missing or unexpected.
func diffEvents(want, got []entry) []Difference {
	var all []Difference
	for len(want) > 0 || len(got) > 0 {
		switch {
		case len(want) > 0 && len(got) > 0 && want[0].name == got[0].name:
			all = append(all, diffValue(eventsPrefix+want[0].name, "", want[0].value, got[0].value)...)
			want, got = want[1:], got[1:]
		case len(want) == 0 || len(got) > 0 && slices.ContainsFunc(got, func(e entry) bool { return e.name == want[0].name }):
			all = append(all, Difference{Where: eventsPrefix + got[0].name, Got: oneLine(got[0].value)})
			got = got[1:]
		default:
			all = append(all, Difference{Where: eventsPrefix + want[0].name, Want: oneLine(want[0].value)})
			want = want[1:]
		}
	}
	return all
}

// diffValue compares two values member by member.
func diffValue(where, path string, want, got any) []Difference {
	switch want := want.(type) {
	case map[string]any:
		if got, same := got.(map[string]any); same {
			var all []Difference
			for _, key := range unionKeys(want, got) {
				all = append(all, diffMember(where, join(path, key), member(want, key), member(got, key))...)
			}
			return all
		}
	case []any:
		if got, same := got.([]any); same {
			var all []Difference
			for i := range max(len(want), len(got)) {
				all = append(all, diffMember(where, join(path, strconv.Itoa(i)), element(want, i), element(got, i))...)
			}
			return all
		}
	case string:
		if got, same := got.(string); same {
			return diffText(where, path, want, got)
		}
	default: // numbers, booleans and null
		if want == got {
			return nil
		}
	}
	return []Difference{{Where: where, Path: path, Want: oneLine(want), Got: oneLine(got)}}
}

// missingValue represents an absent member, as opposed to null.
type missingValue struct{}

func member(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return missingValue{}
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return missingValue{}
}

func diffMember(where, path string, want, got any) []Difference {
	_, notWanted := want.(missingValue)
	_, missing := got.(missingValue)
	switch {
	case notWanted:
		return []Difference{{Where: where, Path: path, Got: oneLine(got)}}
	case missing:
		return []Difference{{Where: where, Path: path, Want: oneLine(want)}}
	default:
		return diffValue(where, path, want, got)
	}
}

// diffText reports the first line that differs.
func diffText(where, path, want, got string) []Difference {
	if want == got {
		return nil
	}
	wantLines, gotLines := strings.Split(want, "\n"), strings.Split(got, "\n")
	line := 0
	for line < min(len(wantLines), len(gotLines)) && wantLines[line] == gotLines[line] {
		line++
	}
	d := Difference{Where: where, Path: path, Want: lineAt(wantLines, line), Got: lineAt(gotLines, line)}
	if len(wantLines) > 1 || len(gotLines) > 1 {
		d.Path = join(path, fmt.Sprintf("line %d", line+1))
	}
	return []Difference{d}
}

func lineAt(lines []string, i int) string {
	if i >= len(lines) {
		return "the end of the text"
	}
	return oneLine(lines[i])
}

func join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

// maxLine bounds a displayed value, in bytes.
const maxLine = 200

// oneLine formats a value as one line.
func oneLine(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // cannot fail: the value was decoded
		return err.Error()
	}
	return event.Truncate(strings.TrimSuffix(b.String(), "\n"), maxLine)
}

func unionKeys[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}
