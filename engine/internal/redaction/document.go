package redaction

import (
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"

	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Failure returns the failure without secrets, as the event error would contain it.
func Failure(r *redact.Redactor, d event.FailureData) event.FailureData {
	e := Event(r, event.New(event.Error, nil, "", d))
	if clean, err := event.Decode[event.FailureData](e); err == nil {
		return clean
	}
	return event.FailureData{Code: d.Code, ErrorType: d.ErrorType, Message: redact.Mark} // unreachable: the event is that of a failure
}

// Result returns an agent's result document without secrets. Its artifact is redacted as an agent's text
// ([redact.Redactor.ForAgent]); the keywords that steer the run stay.
func Result(r *redact.Redactor, doc []byte) []byte {
	if doc == nil {
		return nil
	}
	doc = r.JSONFunc(doc, func(names []string) redact.Treatment {
		if len(names) == 1 && (names[0] == "artifact" || steering[names[0]]) {
			return redact.Keep
		}
		return redact.RedactAll
	})
	return r.ForAgent().JSONFunc(doc, func(names []string) redact.Treatment {
		if len(names) == 1 && names[0] != "artifact" {
			return redact.Keep
		}
		return redact.RedactAll
	})
}

// steering are the members of a result that the engine itself reads to continue the run.
var steering = map[string]bool{"decision": true, "outcome": true, "steps": true, "next": true, "usage": true}

// Context returns the data of an agent's context.json without secrets. Paths, ids, limits and commands stay: the agent
// needs them unchanged.
func Context(r *redact.Redactor, c inputs.Context) inputs.Context {
	agent := r.ForAgent()
	c.Feedback, c.Resolution = agent.Text(c.Feedback), agent.Text(c.Resolution)
	if len(c.Step) > 0 {
		c.Step = agent.JSON(c.Step)
	}
	return c
}

// Data returns a value of JSON or YAML without secrets. It changes the maps and lists of v.
func Data(r *redact.Redactor, v any) any {
	switch v := v.(type) {
	case string:
		return r.Text(v)
	case []any:
		for i := range v {
			v[i] = Data(r, v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = Data(r, v[key])
		}
	}
	return v
}
