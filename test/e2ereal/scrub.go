package e2ereal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Scrubber makes a recorded stream equal on every machine and every day. It numbers ids, fixes process ids, times and
// durations, renames paths, and shortens the long lists of an agent's abilities. Use one scrubber for related
// streams, so that an id that occurs twice stays the same. It is not safe for concurrent use.
type Scrubber struct {
	names *strings.Replacer
	ids   map[string]string
}

var (
	uuid   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	socket = regexp.MustCompile(`/[0-9]+\.sock\b`) // the CLI names a socket after its process id
)

// NewScrubber returns a scrubber that replaces texts, listed in pairs of old and new. Earlier pairs win.
func NewScrubber(oldnew ...string) *Scrubber {
	return &Scrubber{names: strings.NewReplacer(oldnew...), ids: map[string]string{}}
}

// Stream scrubs a stream of JSON lines. A line that is not JSON is scrubbed as text.
func (s *Scrubber) Stream(text []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		out.Write(s.line(line))
		out.WriteByte('\n')
	}
	return out.Bytes()
}

func (s *Scrubber) line(line []byte) []byte {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil || decoder.More() {
		return []byte(s.text(string(line)))
	}
	if object, ok := value.(map[string]any); ok && object["subtype"] == "init" {
		shorten(object)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s.value("", value)); err != nil {
		panic(err) // it was JSON before
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// shorten cuts each list in an agent's first event, such as its tools and commands, to four members.
func shorten(event map[string]any) {
	const few = 4
	for key, value := range event {
		if list, ok := value.([]any); ok && len(list) > few {
			event[key] = list[:few]
		}
	}
}

// value returns the scrubbed value of a key. It changes maps and slices in place.
func (s *Scrubber) value(key string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) { // so that ids are numbered the same way each time
			v[k] = s.value(k, v[k])
		}
	case []any:
		for i, member := range v {
			v[i] = s.value(key, member)
		}
	case string:
		if key == "timestamp" {
			return "2026-01-01T00:00:00.000Z"
		}
		return s.text(v)
	case json.Number:
		if strings.HasSuffix(key, "_ms") {
			return 1
		}
	}
	return value
}

func (s *Scrubber) text(text string) string {
	text = socket.ReplaceAllString(s.names.Replace(text), "/1.sock")
	return uuid.ReplaceAllStringFunc(text, func(id string) string {
		if s.ids[id] == "" {
			s.ids[id] = fmt.Sprintf("00000000-0000-4000-8000-%012d", len(s.ids)+1)
		}
		return s.ids[id]
	})
}
