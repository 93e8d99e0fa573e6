package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// maxMalformed is how much of malformed arguments is kept, in bytes: enough for the model to see its mistake.
const maxMalformed = 1000

// draft is a call while its pieces come.
type draft struct {
	id, name string
	args     strings.Builder
}

// finish are the calls of a reply: each with an id of its own, and arguments that are an object or known not to be.
func finish(drafts []*draft) []Call {
	var calls []Call
	taken := map[string]bool{}
	for i, d := range drafts {
		call := Call{ID: d.id, Name: d.name}
		if call.ID == "" || taken[call.ID] { // some servers give none, or the same to all
			call.ID = fmt.Sprintf("call_%d", i+1)
		}
		taken[call.ID] = true
		call.Args, call.Malformed = arguments(d.args.String())
		calls = append(calls, call)
	}
	return calls
}

// arguments reads what a model wrote as a call's arguments. Nothing at all stands for an empty object.
func arguments(written string) (args json.RawMessage, malformed string) {
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
