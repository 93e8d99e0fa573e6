package artifact

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/schema"
)

// maxFences limits the fenced blocks that are read in a reply.
const maxFences = 100

// parseReply decodes the artifact in an agent's reply. It is the first fenced block of YAML or JSON with an object,
// else the whole text, else a JSON object in prose. Unless the contract requires the reply as source (required), YAML
// counts only in a labelled block, because prose such as "Note: done" is YAML, too. Faults are those of the first
// labelled block; nil without faults means that nothing looks like an artifact.
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
// means that there is no such block.
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

// opening matches a line that opens a block: its indentation, its marks and its language.
var opening = regexp.MustCompile("^([ \\t]*)(?:(`{3,})[ \\t]*([^\\s`]*)[^`]*|(~{3,})[ \\t]*(\\S*).*)$")

// parseFences returns the blocks of a text with the language YAML, JSON or none, labelled ones first. An unclosed
// block extends to the end of the text (CommonMark 0.31, 4.5). Unlike in CommonMark, a block may be indented by more
// than three spaces, since agents put blocks into lists.
func parseFences(text string) []fence {
	var labelled, others []fence
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines) && len(labelled)+len(others) < maxFences; i++ {
		m := opening.FindStringSubmatch(strings.TrimRight(lines[i], "\r\n"))
		if m == nil {
			continue
		}
		indent, marks := len(m[1]), m[2]+m[4]
		var body strings.Builder
		for i++; i < len(lines) && !closes(lines[i], marks); i++ {
			own := len(lines[i]) - len(strings.TrimLeft(lines[i], " \t"))
			body.WriteString(lines[i][min(indent, own):])
		}
		switch f := (fence{strings.ToLower(m[3] + m[5]), body.String()}); {
		case f.isLabelled():
			labelled = append(labelled, f)
		case f.language == "":
			others = append(others, f)
		}
	}
	return append(labelled, others...)
}

// closes reports whether a line closes a block that the marks opened.
func closes(line, marks string) bool {
	text := strings.TrimSpace(line)
	return len(text) >= len(marks) && strings.Trim(text, marks[:1]) == ""
}
