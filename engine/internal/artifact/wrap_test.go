package artifact

import (
	"encoding/json"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// U027: input mapping.
func TestInputs(t *testing.T) {
	input := map[string]any{"name": "ann", "deep": map[string]any{"er": []any{1}}, "null": nil, "a.b": "flat"}
	raw := func(text string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"d": json.RawMessage(text)}
	}
	for name, tt := range map[string]struct {
		wraps   plan.Wraps
		request string
		want    map[string]any
	}{
		"no mapping":             {plan.Wraps{}, "do it", input},
		"renamed":                {plan.Wraps{Inputs: map[string]string{"who": "name"}}, "", map[string]any{"who": "ann"}},
		"one for several":        {plan.Wraps{Inputs: map[string]string{"a": "name", "b": "name"}}, "", map[string]any{"a": "ann", "b": "ann"}},
		"inside another":         {plan.Wraps{Inputs: map[string]string{"x": "deep.er", "y": "a.b"}}, "", map[string]any{"x": []any{1}, "y": "flat"}},
		"missing":                {plan.Wraps{Inputs: map[string]string{"x": "nothing"}}, "do it", map[string]any{}},
		"null is there":          {plan.Wraps{Inputs: map[string]string{"d": "null"}, Defaults: raw(`1`)}, "", map[string]any{"d": nil}},
		"the request":            {plan.Wraps{Inputs: map[string]string{"raw": "user_request"}}, "do it", map[string]any{"raw": "do it"}},
		"no request":             {plan.Wraps{Inputs: map[string]string{"raw": "user_request"}}, "", map[string]any{}},
		"a default":              {plan.Wraps{Inputs: map[string]string{"d": "nothing"}, Defaults: raw(`{"a": [1]}`)}, "", map[string]any{"d": map[string]any{"a": []any{1.0}}}},
		"a default that is over": {plan.Wraps{Inputs: map[string]string{"d": "name"}, Defaults: raw(`2`)}, "", map[string]any{"d": "ann"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := testkit.Must(Inputs(&tt.wraps, input, tt.request))
			testkit.Equal(t, tt.want, got)
		})
	}
	own, err := Inputs(&plan.Wraps{Inputs: map[string]string{"raw": "user_request"}}, map[string]any{"user_request": "mine"}, "do it")
	if err != nil || own["raw"] != "mine" {
		t.Errorf("the artifact's own field: %v, %v", own, err)
	}
	if _, err := Inputs(&plan.Wraps{Defaults: raw(`{`)}, nil, ""); err == nil {
		t.Error("a default that is no JSON is none")
	}
}

// U027: output mapping: null keeps the name, no mapping takes all fields, and the input is passed on.
func TestOutputs(t *testing.T) {
	given, outputs := map[string]any{"name": "ann", "kept": 1}, map[string]any{"name": "bob", "text": "hi", "deep": map[string]any{"er": 2}}
	for name, tt := range map[string]struct {
		mapping map[string]string
		want    map[string]any
	}{
		"no mapping":     {nil, map[string]any{"name": "bob", "kept": 1, "text": "hi", "deep": map[string]any{"er": 2}}},
		"the same name":  {map[string]string{"text": ""}, map[string]any{"name": "ann", "kept": 1, "text": "hi"}},
		"renamed":        {map[string]string{"text": "words"}, map[string]any{"name": "ann", "kept": 1, "words": "hi"}},
		"over the input": {map[string]string{"text": "kept"}, map[string]any{"name": "ann", "kept": "hi"}},
		"inside another": {map[string]string{"deep.er": "n"}, map[string]any{"name": "ann", "kept": 1, "n": 2}},
		"missing":        {map[string]string{"gone": "x"}, map[string]any{"name": "ann", "kept": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Equal(t, tt.want, Outputs(&plan.Wraps{Outputs: tt.mapping}, given, outputs))
		})
	}
	testkit.Equal(t, map[string]any{"name": "ann", "kept": 1}, given)
}

func TestUnfit(t *testing.T) {
	err := InvalidError("the output of the command", []schema.Fault{{Path: "$.n", Code: schema.CodeType, Message: "must be a number"}})
	f := failure.From(err)
	if f.Kind != failure.ResultInvalid || f.Retryable || f.Hint == "" || f.Message != "the output of the command is not what the contract says: $.n: VAL-002: must be a number" {
		t.Errorf("%+v", f)
	}
}
