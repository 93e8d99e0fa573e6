package judge

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Verdict is what a judge says, in the form that judge.json has.
type Verdict struct {
	// Stop says that the stage is done.
	Stop bool `json:"stop"`
	// Reason is the judge's, at most [maxReasonBytes].
	Reason string `json:"reason"`
	// Confidence is from 0 to 1, 0 if the judge has none.
	Confidence float64 `json:"confidence"`
}

// The reasons of verdicts that no judge gave.
const (
	reasonInvalidJSON  = "invalid_json"  // the judge did not answer in JSON
	reasonInvokeFailed = "invoke_failed" // the judge did not answer
	reasonUnreliable   = "judge_unreliable"
)

// Limits of what is kept of a reply: it becomes part of journal lines.
const (
	maxReasonBytes = 4 << 10
	maxRecordBytes = 16 << 10
)

// parseReply reads a judge's reply: a JSON object, bare or in a fence. Absent members are false, "" and 0.
// The record is the object in normal form, members of the judge's own included as far as there is room.
// ok is false when the reply is no such object.
func parseReply(reply string) (v Verdict, record json.RawMessage, ok bool) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(fencedText(reply)), &object); err != nil || object == nil {
		return Verdict{}, nil, false
	}
	if v.Stop, ok = parseBool(object["stop"]); !ok {
		return Verdict{}, nil, false
	}
	_ = json.Unmarshal(object["reason"], &v.Reason) // anything else than a text is no reason
	v.Reason = truncate(v.Reason, maxReasonBytes)
	var confidence float64
	if json.Unmarshal(object["confidence"], &confidence) == nil {
		v.Confidence = min(max(confidence, 0), 1)
	}
	return v, v.record(object), true
}

// record is the verdict as JSON, with the other members of the judge's object.
func (v Verdict) record(object map[string]json.RawMessage) json.RawMessage {
	normal := mustEncode(v)
	var members map[string]json.RawMessage
	if err := json.Unmarshal(normal, &members); err != nil {
		return normal
	}
	for key, value := range object {
		if _, ours := members[key]; !ours {
			members[key] = value
		}
	}
	if full := mustEncode(members); len(full) <= maxRecordBytes {
		return full
	}
	return normal
}

// mustEncode is JSON of values that always have one.
func mustEncode(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a struct of plain fields, or valid JSON in a map
	}
	return text
}

// parseBool reads true and false, also as texts; absent and null are false.
func parseBool(raw json.RawMessage) (value, ok bool) {
	switch strings.ToLower(string(raw)) {
	case "true", `"true"`:
		return true, true
	case "false", `"false"`, "null", "":
		return false, true
	default:
		return false, false
	}
}

// fencedText is the content of the first ```json fence, else of the first fence, else the whole text.
func fencedText(text string) string {
	lines := strings.Split(text, "\n")
	for _, fence := range []string{"```json", "```"} {
		for i, line := range lines {
			if strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), fence) {
				return strings.Join(linesBeforeFence(lines[i+1:]), "\n")
			}
		}
	}
	return text
}

// linesBeforeFence is the lines before the one that ends a fence.
func linesBeforeFence(lines []string) []string {
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			return lines[:i]
		}
	}
	return lines
}

// truncate shortens a text to at most n bytes, at the border of a character.
func truncate(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
