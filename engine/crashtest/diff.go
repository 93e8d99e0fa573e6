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

// Difference is one thing that is otherwise than it should be.
type Difference struct {
	// Where is the name of a file in the session's directory, or "events: " and the type and place of an event.
	Where string `json:"where"`
	// Path is the member that differs ("data.summary", "stages.0.status", "line 3"), "" for the whole.
	Path string `json:"path,omitempty"`
	// Want is what was expected and Got what is there, each cut to a line; "" where there is nothing.
	Want string `json:"want,omitempty"`
	Got  string `json:"got,omitempty"`
}

// String is a line for people.
func (d Difference) String() string {
	at := d.Where
	if d.Path != "" {
		at += ", " + d.Path
	}
	switch {
	case d.Want == "":
		return fmt.Sprintf("%s: not expected, and there: %s", at, d.Got)
	case d.Got == "":
		return fmt.Sprintf("%s: missing: %s", at, d.Want)
	default:
		return fmt.Sprintf("%s: expected %s, got %s", at, d.Want, d.Got)
	}
}

// ofEvents is what Where of an event's difference begins with.
const ofEvents = "events: "

// Diff says in what got differs from o, which is what was expected: events first, in their order, then files by name.
// It is empty if they are equal.
func (o Outcome) Diff(got Outcome) []Difference {
	var all []Difference
	for _, lane := range keysOf(o.lanes, got.lanes) {
		all = append(all, diffEvents(o.lanes[lane], got.lanes[lane])...)
	}
	return append(all, diffFiles(o.files, got.files)...)
}

func diffFiles(want, got map[string]any) []Difference {
	var all []Difference
	for _, name := range keysOf(want, got) {
		w, wanted := want[name]
		g, there := got[name]
		switch {
		case !wanted:
			all = append(all, Difference{Where: name, Got: brief(g)})
		case !there:
			all = append(all, Difference{Where: name, Want: brief(w)})
		default:
			all = append(all, diffValue(name, "", w, g)...)
		}
	}
	return all
}

// diffEvents finds for each event its counterpart by name; what is between is missing or not expected.
func diffEvents(want, got []entry) []Difference {
	var all []Difference
	for len(want) > 0 || len(got) > 0 {
		switch {
		case len(want) > 0 && len(got) > 0 && want[0].name == got[0].name:
			all = append(all, diffValue(ofEvents+want[0].name, "", want[0].value, got[0].value)...)
			want, got = want[1:], got[1:]
		case len(want) == 0 || len(got) > 0 && contains(got, want[0].name):
			all = append(all, Difference{Where: ofEvents + got[0].name, Got: brief(got[0].value)})
			got = got[1:]
		default:
			all = append(all, Difference{Where: ofEvents + want[0].name, Want: brief(want[0].value)})
			want = want[1:]
		}
	}
	return all
}

func contains(list []entry, name string) bool {
	return slices.ContainsFunc(list, func(e entry) bool { return e.name == name })
}

// diffValue compares two values member by member.
func diffValue(where, path string, want, got any) []Difference {
	wantMap, isMap := want.(map[string]any)
	gotMap, areMaps := got.(map[string]any)
	wantList, isList := want.([]any)
	gotList, areLists := got.([]any)
	wantText, isText := want.(string)
	gotText, areTexts := got.(string)
	switch {
	case isMap && areMaps:
		var all []Difference
		for _, key := range keysOf(wantMap, gotMap) {
			all = append(all, diffMember(where, join(path, key), at(wantMap, key), at(gotMap, key))...)
		}
		return all
	case isList && areLists:
		var all []Difference
		for i := range max(len(wantList), len(gotList)) {
			all = append(all, diffMember(where, join(path, strconv.Itoa(i)), element(wantList, i), element(gotList, i))...)
		}
		return all
	case isText && areTexts:
		return diffText(where, path, wantText, gotText)
	case want != got: // numbers, words, or things of different kinds
		return []Difference{{Where: where, Path: path, Want: brief(want), Got: brief(got)}}
	default:
		return nil
	}
}

// absent stands for a member that is not there, which is not the same as one that is null.
type absent struct{}

func at(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return absent{}
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

func diffMember(where, path string, want, got any) []Difference {
	_, unwanted := want.(absent)
	_, missing := got.(absent)
	switch {
	case unwanted:
		return []Difference{{Where: where, Path: path, Got: brief(got)}}
	case missing:
		return []Difference{{Where: where, Path: path, Want: brief(want)}}
	default:
		return diffValue(where, path, want, got)
	}
}

// diffText shows the first line that differs.
func diffText(where, path, want, got string) []Difference {
	if want == got {
		return nil
	}
	wantLines, gotLines := strings.Split(want, "\n"), strings.Split(got, "\n")
	line := 0
	for line < min(len(wantLines), len(gotLines)) && wantLines[line] == gotLines[line] {
		line++
	}
	d := Difference{Where: where, Path: path, Want: lineOf(wantLines, line), Got: lineOf(gotLines, line)}
	if len(wantLines) > 1 || len(gotLines) > 1 {
		d.Path = join(path, fmt.Sprintf("line %d", line+1))
	}
	return []Difference{d}
}

func lineOf(lines []string, i int) string {
	if i >= len(lines) {
		return "the end of the text"
	}
	return brief(lines[i])
}

func join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

// maxBrief is how long a value is shown, in bytes.
const maxBrief = 200

// brief is a value in a line.
func brief(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // what was decoded can be encoded
		return err.Error()
	}
	return event.Truncate(strings.TrimSuffix(b.String(), "\n"), maxBrief)
}

func keysOf[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
