package artifact

import (
	"encoding/json"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/schema"
)

// maxFences is how many blocks of a reply are looked at.
const maxFences = 100

// fromReply reads the artifact out of what an agent said: the first fenced block of YAML or JSON that is an object,
// else all of it, else the JSON object within prose. Unless the artifact has to be in the reply (sure), YAML counts only
// in a block that is called so: prose such as "Note: done" is YAML, too. Where there is none, the faults are those of
// the block that was called YAML or JSON; no faults and nil means that nothing looks like an artifact.
func fromReply(text string, limit int64, sure bool) (map[string]any, []schema.Fault) {
	var first []schema.Fault
	for _, f := range fences(text) {
		if !sure && !f.labelled() && !json.Valid([]byte(f.text)) {
			continue
		}
		data, faults := parse([]byte(f.text), limit)
		if len(faults) == 0 {
			return data, nil
		}
		if f.labelled() && first == nil {
			first = faults
		}
	}
	if first != nil {
		return nil, first
	}
	if sure || json.Valid([]byte(text)) {
		if data, faults := parse([]byte(text), limit); len(faults) == 0 {
			return data, nil
		}
	}
	return withinProse(text, limit), nil
}

// Example reads the first fenced block of a text that is called YAML or JSON, as an artifact, without an envelope. No
// faults and nil means that there is none.
func Example(text string, limit int64) (map[string]any, []schema.Fault) {
	for _, f := range fences(text) {
		if f.labelled() {
			data, faults := parse([]byte(f.text), limit)
			return stripped(data), faults
		}
	}
	return nil, nil
}

// withinProse finds a JSON object that begins a line or follows other words, nil for none. It looks at the beginnings
// of few, since each costs reading the rest.
func withinProse(text string, limit int64) map[string]any {
	const tries = 20
	at := 0
	for range tries {
		i := strings.IndexByte(text[at:], '{')
		if i < 0 {
			return nil
		}
		at += i
		var object json.RawMessage
		if json.NewDecoder(strings.NewReader(text[at:])).Decode(&object) == nil && len(object) > len("{}") {
			if data, faults := parse(object, limit); len(faults) == 0 {
				return data
			}
		}
		at++
	}
	return nil
}

// fence is a fenced block of Markdown.
type fence struct {
	language string // first word behind the opening marks, in lower case
	text     string
}

func (f fence) labelled() bool {
	return f.language == "yaml" || f.language == "yml" || f.language == "json"
}

// fences are the blocks of a text whose language is YAML, JSON or not said, those with a language first. A block that
// has no end goes on to the end of the text (CommonMark 0.31, 4.5; unlike there, a block may be indented by more than
// three spaces, since agents put them into lists).
func fences(text string) []fence {
	var labelled, others []fence
	var open *opened
	for line := range strings.Lines(text) {
		switch {
		case open == nil:
			open = opening(line)
		case open.closedBy(line):
			labelled, others = open.keep(labelled, others)
			open = nil
		default:
			open.add(line)
		}
		if len(labelled)+len(others) == maxFences {
			break
		}
	}
	if open != nil {
		labelled, others = open.keep(labelled, others)
	}
	return append(labelled, others...)
}

// opened is a block whose end is still to come.
type opened struct {
	fence
	mark   byte
	marks  int
	indent int
	body   strings.Builder
}

// opening reads a line that opens a block, nil for any other.
func opening(line string) *opened {
	text := strings.TrimLeft(line, " \t")
	if text == "" || text[0] != '`' && text[0] != '~' {
		return nil
	}
	marks := len(text) - len(strings.TrimLeft(text, text[:1]))
	info := strings.TrimSpace(text[marks:])
	if marks < 3 || text[0] == '`' && strings.Contains(info, "`") {
		return nil
	}
	language, _, _ := strings.Cut(info, " ")
	return &opened{fence: fence{language: strings.ToLower(language)}, mark: text[0], marks: marks, indent: len(line) - len(text)}
}

func (o *opened) closedBy(line string) bool {
	text := strings.TrimSpace(line)
	return len(text) >= o.marks && strings.Trim(text, string(o.mark)) == ""
}

// add adds a line, less the indentation of the block.
func (o *opened) add(line string) {
	cut := 0
	for cut < o.indent && cut < len(line) && (line[cut] == ' ' || line[cut] == '\t') {
		cut++
	}
	o.body.WriteString(line[cut:])
}

func (o *opened) keep(labelled, others []fence) (newLabelled, newOthers []fence) {
	o.text = o.body.String()
	switch {
	case o.labelled():
		return append(labelled, o.fence), others
	case o.language == "":
		return labelled, append(others, o.fence)
	default:
		return labelled, others
	}
}
