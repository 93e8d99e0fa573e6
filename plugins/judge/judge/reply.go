package judge

import (
	"encoding/json"
	"maps"
	"strings"
)

// Verdict is the reply of a judge, in the form of judge.json.
type Verdict struct {
	// Stop is true if the stage is done.
	Stop bool `json:"stop"`
	// Reason is the judge's reason, at most [maxReasonBytes].
	Reason string `json:"reason"`
	// Confidence is from 0 to 1; 0 if the judge gives none.
	Confidence float64 `json:"confidence"`
}

// The reasons of decisions without a verdict.
const (
	reasonInvalidJSON  = "invalid_json"  // the reply is not JSON
	reasonInvokeFailed = "invoke_failed" // the provider failed
	reasonUnreliable   = "judge_unreliable"
)

// Limits of a kept reply, in bytes: it becomes part of journal lines.
const (
	maxReasonBytes = 4 << 10
	maxRecordBytes = 16 << 10
)

// parseReply parses a judge's reply: a JSON object, bare or in a fence. Missing members are false, "" and 0. record is
// the verdict as JSON, with the judge's other members unless the record then exceeds maxRecordBytes. ok is false if the
// reply is not a JSON object or its stop is not a boolean.
func parseReply(reply string) (v Verdict, record json.RawMessage, ok bool) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(fencedText(reply)), &object); err != nil || object == nil {
		return Verdict{}, nil, false
	}
	if v.Stop, ok = parseBool(object["stop"]); !ok {
		return Verdict{}, nil, false
	}
	_ = json.Unmarshal(object["reason"], &v.Reason) // only a text is a reason
	v.Reason = strings.ToValidUTF8(v.Reason[:min(len(v.Reason), maxReasonBytes)], "")
	var confidence float64
	if json.Unmarshal(object["confidence"], &confidence) == nil {
		v.Confidence = min(max(confidence, 0), 1)
	}
	return v, v.record(object), true
}

// record returns the verdict as JSON, with the other members of the judge's object if they fit into maxRecordBytes.
func (v Verdict) record(object map[string]json.RawMessage) json.RawMessage {
	full := maps.Clone(object)
	full["stop"], full["reason"], full["confidence"] = mustEncode(v.Stop), mustEncode(v.Reason), mustEncode(v.Confidence)
	if record := mustEncode(full); len(record) <= maxRecordBytes {
		return record
	}
	return mustEncode(v)
}

// mustEncode returns the JSON of a value that can always be encoded.
func mustEncode(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a struct of plain fields, or valid JSON in a map
	}
	return text
}

// parseBool parses true and false, also as texts; absent and null are false.
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

// fencedText returns the content of the first ```json fence, else of the first fence, else the whole text.
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

// linesBeforeFence returns the lines before the end of a fence.
func linesBeforeFence(lines []string) []string {
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			return lines[:i]
		}
	}
	return lines
}
