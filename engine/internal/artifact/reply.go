package artifact

import (
	"encoding/json"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/schema"
)

// maxFences limits the fenced blocks that are read in a reply.
const maxFences = 100

// parseReply decodes the artifact in an agent's reply: the first fenced block of YAML or JSON with an object, else
// the whole text, else a JSON object in prose. Unless the contract requires the reply as source (sure), YAML counts
// only in a labelled block, because prose such as "Note: done" is YAML, too. Faults are those of the first labelled
// block; nil without faults means that nothing looks like an artifact.
func parseReply(text string, limit int64, required bool) (map[string]any, []schema.Fault) {
	var first []schema.Fault
	for _, f := range parseFences(text) {
		if !required && !f.isLabelled() && !json.Valid([]byte(f.text)) {
			continue
		}
		data, faults := parseObject([]byte(f.text), limit)
		if len(faults) == 0 {
			return data, nil
		}
		if f.isLabelled() && first == nil {
			first = faults
		}
	}
	if first != nil {
		return nil, first
	}
	if required || json.Valid([]byte(text)) {
		if data, faults := parseObject([]byte(text), limit); len(faults) == 0 {
			return data, nil
		}
	}
	return findInProse(text, limit), nil
}

// Example decodes the first block of a text that is labelled YAML or JSON, without its envelope. Nil without faults
// means that there is none.
func Example(text string, limit int64) (map[string]any, []schema.Fault) {
	for _, f := range parseFences(text) {
		if f.isLabelled() {
			data, faults := parseObject([]byte(f.text), limit)
			return stripEnvelope(data), faults
		}
	}
	return nil, nil
}

// findInProse returns the first JSON object in prose, nil for none. It tries only a few opening braces, since each
// try decodes the rest of the text.
func findInProse(text string, limit int64) map[string]any {
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
			if data, faults := parseObject(object, limit); len(faults) == 0 {
				return data
			}
		}
		at++
	}
	return nil
}

// fence is a fenced block of Markdown.
type fence struct {
	language string // first word after the opening marks, in lower case
	text     string
}

func (f fence) isLabelled() bool {
	return f.language == "yaml" || f.language == "yml" || f.language == "json"
}

// parseFences returns the blocks of a text with the language YAML, JSON or none, labelled ones first. An unclosed
// block extends to the end of the text (CommonMark 0.31, 4.5). Unlike there, a block may be indented by more than
// three spaces, since agents put them into lists.
func parseFences(text string) []fence {
	var labelled, others []fence
	var open *openFence
	for line := range strings.Lines(text) {
		switch {
		case open == nil:
			open = parseOpening(line)
		case open.isClosedBy(line):
			labelled, others = open.appendTo(labelled, others)
			open = nil
		default:
			open.add(line)
		}
		if len(labelled)+len(others) == maxFences {
			break
		}
	}
	if open != nil {
		labelled, others = open.appendTo(labelled, others)
	}
	return append(labelled, others...)
}

// openFence is a block whose end has not been read yet.
type openFence struct {
	fence
	mark   byte
	marks  int
	indent int
	body   strings.Builder
}

// parseOpening parses a line that opens a block, nil for any other.
func parseOpening(line string) *openFence {
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
	return &openFence{fence: fence{language: strings.ToLower(language)}, mark: text[0], marks: marks, indent: len(line) - len(text)}
}

func (o *openFence) isClosedBy(line string) bool {
	text := strings.TrimSpace(line)
	return len(text) >= o.marks && strings.Trim(text, string(o.mark)) == ""
}

// add appends a line without the block's indentation.
func (o *openFence) add(line string) {
	cut := 0
	for cut < o.indent && cut < len(line) && (line[cut] == ' ' || line[cut] == '\t') {
		cut++
	}
	o.body.WriteString(line[cut:])
}

func (o *openFence) appendTo(labelled, others []fence) (newLabelled, newOthers []fence) {
	o.text = o.body.String()
	switch {
	case o.isLabelled():
		return append(labelled, o.fence), others
	case o.language == "":
		return labelled, append(others, o.fence)
	default:
		return labelled, others
	}
}
