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
	return append(all, diffMembers(o.files, got.files, func(name string) Difference { return Difference{Where: name} })...)
}

// diffEvents pairs the events by name; unpaired ones are missing or unexpected.
func diffEvents(want, got []entry) []Difference {
	var all []Difference
	for len(want) > 0 || len(got) > 0 {
		switch {
		case len(want) > 0 && len(got) > 0 && want[0].name == got[0].name:
			all = append(all, diffValue(Difference{Where: eventsPrefix + want[0].name}, want[0].value, got[0].value)...)
			want, got = want[1:], got[1:]
		case len(want) == 0 || len(got) > 0 && slices.ContainsFunc(got, func(e entry) bool { return e.name == want[0].name }):
			all = append(all, Difference{Where: eventsPrefix + got[0].name, Got: jsonLine(got[0].value)})
			got = got[1:]
		default:
			all = append(all, Difference{Where: eventsPrefix + want[0].name, Want: jsonLine(want[0].value)})
			want = want[1:]
		}
	}
	return all
}

// diffMembers compares two maps; at returns a Difference with only the position of a member.
func diffMembers(want, got map[string]any, at func(key string) Difference) []Difference {
	var all []Difference
	for _, key := range unionKeys(want, got) {
		d := at(key)
		wanted, isWanted := want[key]
		found, isFound := got[key]
		switch {
		case !isWanted:
			d.Got = jsonLine(found)
			all = append(all, d)
		case !isFound:
			d.Want = jsonLine(wanted)
			all = append(all, d)
		default:
			all = append(all, diffValue(d, wanted, found)...)
		}
	}
	return all
}

// diffValue compares two values at a position member by member.
func diffValue(at Difference, want, got any) []Difference {
	wantMembers, gotMembers := members(want), members(got)
	_, wantList := want.([]any)
	_, gotList := got.([]any)
	wantText, isText := want.(string)
	gotText, isGotText := got.(string)
	switch {
	case isText && isGotText:
		return diffText(at, wantText, gotText)
	case wantMembers != nil && gotMembers != nil && wantList == gotList:
		return diffMembers(wantMembers, gotMembers, func(key string) Difference { return Difference{Where: at.Where, Path: join(at.Path, key)} })
	case wantMembers == nil && want == got: // numbers, booleans and null
		return nil
	}
	at.Want, at.Got = jsonLine(want), jsonLine(got)
	return []Difference{at}
}

// members returns the members of an object, or the elements of a list by their numbers; nil for other values.
func members(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return v
	case []any:
		all := map[string]any{}
		for i, element := range v {
			all[strconv.Itoa(i)] = element
		}
		return all
	default:
		return nil
	}
}

// diffText reports the first line that differs.
func diffText(at Difference, want, got string) []Difference {
	if want == got {
		return nil
	}
	wantLines, gotLines := strings.Split(want, "\n"), strings.Split(got, "\n")
	line := 0
	for line < min(len(wantLines), len(gotLines)) && wantLines[line] == gotLines[line] {
		line++
	}
	at.Want, at.Got = lineAt(wantLines, line), lineAt(gotLines, line)
	if len(wantLines) > 1 || len(gotLines) > 1 {
		at.Path = join(at.Path, fmt.Sprintf("line %d", line+1))
	}
	return []Difference{at}
}

func lineAt(lines []string, i int) string {
	if i >= len(lines) {
		return "the end of the text"
	}
	return jsonLine(lines[i])
}

func join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

// maxLine bounds a displayed value, in bytes.
const maxLine = 200

// jsonLine returns the JSON of a value on one line.
func jsonLine(v any) string {
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
