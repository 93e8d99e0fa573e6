package tool

import (
	"bytes"
	"context"
	"encoding/json"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Result is the end of a call.
type Result struct {
	Status sdk.ToolStatus
	Code   string // "" for success
	// Data is what the tool returns, which fits its result schema, or {"error": {"code", "message"}}.
	Data json.RawMessage
	// Changed are the files and directories that were made, changed or deleted, as in [Prepared.Paths].
	Changed []string
	// Key names what was read, for [Set.Keep]. Empty for all but whole answers of read_file.
	Key string
}

// Run makes the call. It looks again at what may have changed since it was prepared. A cancelled ctx ends it; what a
// command said until then is kept. Run is called once.
func (p *Prepared) Run(ctx context.Context) Result {
	done, err := p.run(ctx)
	if err != nil {
		r := p.set.plain(refusal(err))
		return Result{Status: r.Status, Code: r.Code, Data: r.Data(), Changed: done.changed}
	}
	data, err := p.set.typed(p.tool, done.data)
	if err != nil {
		r := failed("the result of %s is not what its schema says: %s", p.Tool, err)
		return Result{Status: r.Status, Code: r.Code, Data: r.Data(), Changed: done.changed}
	}
	result := Result{Status: sdk.ToolSuccess, Data: data, Changed: done.changed, Key: done.key}
	if done.status != "" && done.status != sdk.ToolSuccess {
		result.Status, result.Code = done.status, CodeFailed
	}
	return result
}

// typed is the value as JSON without secrets, checked against the schema.
func (s *Set) typed(t registered, value any) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(encode(value)))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return nil, err
	}
	data := encode(s.redacted(plain))
	return data, check(t.result, data)
}

// redacted takes secrets out of all texts of a JSON value.
func (s *Set) redacted(value any) any {
	switch v := value.(type) {
	case string:
		return s.o.Redactor.Text(v)
	case []any:
		for i := range v {
			v[i] = s.redacted(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = s.redacted(v[key])
		}
	}
	return value
}

// encode is the value as JSON as a model reads it best: with < and & as they are.
func encode(value any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return json.RawMessage("null") // no value of ours; the schema refuses it
	}
	return bytes.TrimSpace(b.Bytes())
}
