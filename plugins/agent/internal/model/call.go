package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// maxMalformed is the part of malformed arguments that is kept, in bytes: enough for the model to see its mistake.
const maxMalformed = 1000

// draft is a tool call while its pieces arrive.
type draft struct {
	id, name string
	args     []byte
}

// completeCalls returns the calls of a reply, each with a unique id. Arguments that are not an object are marked malformed.
func completeCalls(drafts []*draft) []Call {
	var calls []Call
	used := map[string]bool{}
	for i, d := range drafts {
		call := Call{ID: d.id, Name: d.name}
		if call.ID == "" || used[call.ID] { // some servers send no id, or one id for all
			call.ID = fmt.Sprintf("call_%d", i+1)
		}
		used[call.ID] = true
		call.Args, call.Malformed = parseArguments(string(d.args))
		calls = append(calls, call)
	}
	return calls
}

// parseArguments converts the arguments that a model wrote to compact JSON. Empty text and null become an empty object.
func parseArguments(written string) (args json.RawMessage, malformed string) {
	text := strings.TrimSpace(written)
	var object map[string]json.RawMessage
	var compact bytes.Buffer
	switch {
	case text == "" || text == "null":
		return json.RawMessage("{}"), ""
	case json.Unmarshal([]byte(text), &object) != nil || json.Compact(&compact, []byte(text)) != nil:
		return json.RawMessage("{}"), strings.ToValidUTF8(text[:min(len(text), maxMalformed)], "")
	default:
		return compact.Bytes(), ""
	}
}
