package crashtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Difference is one difference between two outcomes.
type Difference struct {
	// Where is a file name in the session's directory, or "events: " with the type and location of an event.
	Where string `json:"where"`
	// Path is the differing line ("line 3"), of a structured value as indented JSON; "" for the whole value.
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

// diffFiles compares the files of equal names.
func diffFiles(want, got map[string]any) []Difference {
	var all []Difference
	for _, name := range unionKeys(want, got) {
		wanted, isWanted := want[name]
		found, isFound := got[name]
		switch {
		case !isWanted:
			all = append(all, Difference{Where: name, Got: oneLine(found)})
		case !isFound:
			all = append(all, Difference{Where: name, Want: oneLine(wanted)})
		default:
			all = append(all, diffValue(name, wanted, found)...)
		}
	}
	return all
}

// diffEvents pairs the events by name; unpaired ones are missing or unexpected.
func diffEvents(want, got []entry) []Difference {
	var all []Difference
	for len(want) > 0 || len(got) > 0 {
		switch {
		case len(want) > 0 && len(got) > 0 && want[0].name == got[0].name:
			all = append(all, diffValue(eventsPrefix+want[0].name, want[0].value, got[0].value)...)
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

// diffValue returns the first line that differs between two values.
func diffValue(where string, want, got any) []Difference {
	wantLines, gotLines := splitLines(want), splitLines(got)
	if slices.Equal(wantLines, gotLines) {
		return nil
	}
	line := 0
	for line < min(len(wantLines), len(gotLines)) && wantLines[line] == gotLines[line] {
		line++
	}
	d := Difference{Where: where, Want: lineAt(want, wantLines, line), Got: lineAt(got, gotLines, line)}
	if len(wantLines) > 1 || len(gotLines) > 1 {
		d.Path = fmt.Sprintf("line %d", line+1)
	}
	return []Difference{d}
}

// splitLines returns the lines of a text, or of another value as indented JSON with sorted members.
func splitLines(v any) []string {
	text, isText := v.(string)
	if !isText {
		text = encode(v, " ")
	}
	return strings.Split(text, "\n")
}

// lineAt returns a line of a value for display, quoted if the value is a text.
func lineAt(v any, lines []string, i int) string {
	if i >= len(lines) {
		return "the end of the text"
	}
	if _, isText := v.(string); isText {
		return oneLine(lines[i])
	}
	return event.Truncate(strings.Trim(lines[i], " ,"), maxLine)
}

// maxLine bounds a displayed value, in bytes.
const maxLine = 200

// oneLine formats a value as one line.
func oneLine(v any) string { return event.Truncate(encode(v, ""), maxLine) }

// encode formats a value as JSON, in one line without an indent.
func encode(v any, indent string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil { // cannot fail: the value was decoded
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func unionKeys[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}
