package journal

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// render appends the event's line. It adds to the data the absolute path that readers of the Bash engine's
// journals expect; no fold reads it.
func (j *Journal) render(dst []byte, e event.Event) ([]byte, error) {
	if e.Type == event.IterationComplete || e.Type == event.WorkerComplete {
		e.Data = j.withResultFile(e.Data)
	}
	return e.AppendLine(dst)
}

const resultFile = "result_file"

// withResultFile puts result_file first, as Bash does, with the path of the reference under result.
func (j *Journal) withResultFile(data json.RawMessage) json.RawMessage {
	var known struct {
		ResultFile string    `json:"result_file"`
		Result     event.Ref `json:"result"`
	}
	if json.Unmarshal(data, &known) != nil || known.ResultFile != "" || known.Result.Path == "" {
		return data
	}
	return editObject(data, func(m []member) []member {
		m = slices.DeleteFunc(m, func(m member) bool { return m.key == resultFile }) // an empty one
		return slices.Insert(m, 0, stringMember(resultFile, j.dir.Abs(known.Result.Path)))
	})
}

// member is a member of a JSON object; a slice of them keeps the order.
type member struct {
	key   string
	value json.RawMessage
}

func stringMember(key, value string) member {
	raw, _ := json.Marshal(value) // strings always marshal
	return member{key, raw}
}

// editObject changes the members of a valid JSON object.
func editObject(object json.RawMessage, change func([]member) []member) json.RawMessage {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range change(splitMembers(object)) {
		if i > 0 {
			out.WriteByte(',')
		}
		key, _ := json.Marshal(m.key)
		out.Write(key)
		out.WriteByte(':')
		out.Write(m.value)
	}
	out.WriteByte('}')
	return out.Bytes()
}

func splitMembers(object json.RawMessage) []member {
	dec := json.NewDecoder(bytes.NewReader(object))
	_, err := dec.Token() // the brace
	var members []member
	for err == nil && dec.More() {
		var m member
		var key json.Token
		if key, err = dec.Token(); err == nil {
			m.key, _ = key.(string)
			err = dec.Decode(&m.value)
			members = append(members, m)
		}
	}
	return members
}
