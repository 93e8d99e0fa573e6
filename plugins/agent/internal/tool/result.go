package tool

import (
	"bytes"
	"context"
	"encoding/json"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Result is the result of a call.
type Result struct {
	Status sdk.ToolStatus
	Code   string // "" for success
	// Data is the tool's result, which fits its schema, or {"error": {"code", "message"}}.
	Data json.RawMessage
	// Changed are the files and directories that were created, changed or deleted, as in [PreparedCall.Paths].
	Changed []string
	// Key identifies the content that was read, for [Set.Keep]. It is empty except for read_file.
	Key string
}

// Run makes the call. It repeats the checks that may have a new answer. Cancelling ctx ends the call; the output of a
// command until then is kept. Run may be called once.
func (p *PreparedCall) Run(ctx context.Context) Result {
	done, err := p.run(ctx)
	if err != nil {
		r := p.set.redactRefusal(classify(err))
		return Result{Status: r.Status, Code: r.Code, Data: r.Data(), Changed: done.changed}
	}
	data, err := p.set.encodeResult(p.tool, done.data)
	if err != nil {
		r := newFailure("the result of %s does not fit its schema: %s", p.Tool, err)
		return Result{Status: r.Status, Code: r.Code, Data: r.Data(), Changed: done.changed}
	}
	result := Result{Status: sdk.ToolSuccess, Data: data, Changed: done.changed, Key: done.key}
	if done.status != "" && done.status != sdk.ToolSuccess {
		result.Status, result.Code = done.status, CodeFailed
	}
	return result
}

// encodeResult returns the value as JSON without secrets, checked against the schema.
func (s *Set) encodeResult(t registeredTool, value any) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(encode(value)))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return nil, err
	}
	data := encode(s.redactValue(plain))
	return data, check(t.result, data)
}

// redactValue removes secrets from all texts of a JSON value.
func (s *Set) redactValue(value any) any {
	switch v := value.(type) {
	case string:
		return s.o.Redactor.Text(v)
	case []any:
		for i := range v {
			v[i] = s.redactValue(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = s.redactValue(v[key])
		}
	}
	return value
}
