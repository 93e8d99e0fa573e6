package artifact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// U152: the artifact in a reply is a fenced block, else the whole text, else an object in prose.
func TestFromReply(t *testing.T) {
	one := map[string]any{"a": 1}
	for _, tt := range []struct {
		name, text  string
		sure, loose map[string]any // data if the contract requires the reply as source, and otherwise
		fault       string
	}{
		{"YAML", "Here it is:\n```yaml\na: 1\n```\nDone.", one, one, ""},
		{"JSON", "```json\n{\"a\": 1}\n```", one, one, ""},
		{"upper case, with more behind it", "```YAML title=x\na: 1\n```", one, one, ""},
		{"tildes", "~~~~yml\na: 1\n~~~\nb: 2\n~~~~", nil, nil, "line 2"},
		{"longer marks", "````yaml\na: |\n  ```\n  code\n  ```\n````", map[string]any{"a": "```\ncode\n```\n"}, map[string]any{"a": "```\ncode\n```\n"}, ""},
		{"in a list", "1. first\n   ```yaml\n   a: 1\n   ```\n", one, one, ""},
		{"without an end", "```yaml\na: 1\n", one, one, ""},
		{"no language", "```\na: 1\n```", one, nil, ""},
		{"no language, JSON", "```\n{\"a\":1}\n```", one, one, ""},
		{"a labelled one before others", "```\nb: 2\n```\n```yaml\na: 1\n```", one, one, ""},
		{"another language", "```go\npackage a\n```\n{\"a\":1}", one, one, ""},
		{"the first that is an object", "```yaml\n- 1\n```\n```yaml\na: 1\n```", one, one, ""},
		{"broken", "```yaml\na: [\n```", nil, nil, "VAL-004"},
		{"no object", "```json\n[1]\n```", nil, nil, "VAL-002"},
		{"all of it, YAML", "a: 1\n", one, nil, ""},
		{"all of it, JSON", " {\"a\":1}\n", one, one, ""},
		{"prose that is YAML", "Note: all is done", map[string]any{"Note": "all is done"}, nil, ""},
		{"within prose", "The result is {\"a\":1}. I used {braces} and {} too.", one, one, ""},
		{"behind other braces", "func x() { y } gives {\"a\":1}", one, one, ""},
		{"braces in texts", `so: {"a":1,"b":"}{\"}"} end`, map[string]any{"a": 1, "b": `}{"}`}, map[string]any{"a": 1, "b": `}{"}`}, ""},
		{"nothing", "All is done.", nil, nil, ""},
		{"empty", "", nil, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for sure, want := range map[bool]map[string]any{true: tt.sure, false: tt.loose} {
				got, faults := parseReply(tt.text, 1<<20, sure)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("sure %t: %s", sure, diff)
				}
				if fault := faultLines(faults); (fault == "") != (tt.fault == "") || !strings.Contains(fault, tt.fault) {
					t.Errorf("sure %t: faults %q", sure, fault)
				}
			}
		})
	}
}

// FuzzFromReply checks that the blocks of any reply are parts of the reply, and that a found artifact can be read after
// rendering.
func FuzzFromReply(f *testing.F) {
	for _, seed := range []string{
		"```yaml\na: 1\n```", "~~~\n{}\n~~~", "   ```json\n   {\"a\":[1,{\"b\":null}]}\n", "x {\"a\":\"}\"} y", "a: &x {b: *x}", "```yaml\na: &a [*a]\n```", "{\"a\":1e999}", "```\n```\n```",
	} {
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, sure bool) {
		for _, block := range parseFences(text) {
			for line := range strings.Lines(block.text) {
				if !strings.Contains(text, strings.TrimSpace(line)) {
					t.Fatalf("%q is not in %q", line, text)
				}
			}
		}
		data, _ := parseReply(text, 1<<20, sure)
		if data == nil {
			return
		}
		data = stripEnvelope(data)
		kept := testkit.Must(Artifact{Meta: Meta{Version: "1.0"}, Data: data}.Render())
		again, err := Parse(kept)
		if err != nil {
			t.Fatalf("%v in\n%s", err, kept)
		}
		if diff := cmp.Diff(numbers(t, data), numbers(t, again.Data)); diff != "" {
			t.Fatalf("%s in\n%s", diff, kept)
		}
	})
}

// numbers returns data with all numbers as JSON decodes them.
func numbers(t *testing.T, data map[string]any) (same any) {
	text, err := json.Marshal(data)
	if err == nil {
		err = json.Unmarshal(text, &same)
	}
	testkit.OK(t, err)
	return same
}

func TestRequestedSchema(t *testing.T) {
	tests := []struct {
		name, schema string
		measured     string
		carry        []string
		want         string
	}{
		{"nothing measured", `{"required":["a"], "type":"object"}`, "", nil, `{"required":["a"], "type":"object"}`},
		{"no schema", ``, "a", nil, ``},
		{"true", `true`, "a", nil, `true`},
		{"a field", `{"required":["a","b"],"properties":{"a":{"type":"object"},"b":{"type":"string"}}}`, "a", nil, `{"properties":{"a":true,"b":{"type":"string"}},"required":["b"]}`},
		{"all that is required", `{"required":["a"],"properties":{"a":{"const":0}}}`, "a", nil, `{"properties":{"a":true}}`},
		{"a field that the schema does not describe", `{"required":["a","b"]}`, "a", nil, `{"required":["b"]}`},
		{
			"a field within", `{"required":["r"],"properties":{"r":{"required":["n","m"],"properties":{"n":{"const":0},"m":{"type":"string"}}}}}`, "r.n", nil,
			`{"properties":{"r":{"properties":{"m":{"type":"string"},"n":true},"required":["m"]}},"required":["r"]}`,
		},
		{"all fields within", `{"required":["r"],"properties":{"r":{"required":["n"],"properties":{"n":{"const":0}}}}}`, "r.n", nil, `{"properties":{"r":{"properties":{"n":true}}}}`},
		{"carried over", `{"required":["id","a"],"properties":{"id":{"type":"string"}}}`, "", []string{"id"}, `{"properties":{"id":{"type":"string"}},"required":["a"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			contract := &plan.Artifact{Schema: json.RawMessage(tt.schema), Carry: tt.carry}
			if tt.measured != "" {
				contract.KernelFields = map[string]string{tt.measured: "checks.t.counts"}
			}
			testkit.Equal(t, tt.want, string(RequestedSchema(contract)))
		})
	}
}

// U027: input mapping: fields get their mapped names, no mapping takes all fields, and defaults replace missing ones.
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
		t.Error("a default that is not JSON is none")
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
