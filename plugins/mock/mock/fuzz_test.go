package mock

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// FuzzFill fills the templates of any JSON: the result is JSON without templates, and a second pass does not
// change it.
func FuzzFill(f *testing.F) {
	for _, seed := range []string{`{"a":"${VISIT}","${NODE}":["${STEP} ${ITERATION}",{"b":1e400}]}`, `"${ATTEMPT}"`, `{"a":1}`, `["${VISIT}${VISIT}"]`, `"${OTHER}"`, `{"${NODE}":1,"plan":2}`} {
		f.Add([]byte(seed))
	}
	values := templateValues{"VISIT": "2", "ITERATION": "3", "ATTEMPT": "1", "STEP": "step-\"1\"", "NODE": "plan"}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		filled, err := values.fillObject(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if !json.Valid(filled) || templatePattern.Match(filled) {
			t.Fatalf("%s became %s", raw, filled)
		}
		if again, err := values.fillObject(filled); err != nil || string(again) != string(filled) {
			t.Errorf("%s became %s, %v", filled, again, err)
		}
	})
}

// FuzzConvert converts any status: a readable status becomes a result object with every member.
func FuzzConvert(f *testing.F) {
	for _, seed := range []string{`{"decision":"stop","reason":"done","summary":"s","work":{"items_completed":["a"],"files_touched":[]},"errors":[]}`, `{"errors":["x"]}`, "null", "{}", "[]", `{"work":null}`} {
		f.Add([]byte(seed))
	}
	empty, err := json.Marshal(emptyResult())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, status []byte) {
		text, err := convertStatus(status)
		if err != nil {
			if failure.KindOf(err) != failure.ConfigInvalid {
				t.Errorf("kind %q of %v", failure.KindOf(err), err)
			}
			return
		}
		if diff := cmp.Diff(memberNames(t, empty), memberNames(t, text)); diff != "" {
			t.Errorf("%s: other members:\n%s", text, diff)
		}
	})
}

// memberNames returns the names of an object's members, at every depth.
func memberNames(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var object map[string]any
	check(t, json.Unmarshal(text, &object))
	var names func(map[string]any) map[string]any
	names = func(object map[string]any) map[string]any {
		all := map[string]any{}
		for name, v := range object {
			inner, isMap := v.(map[string]any)
			if !isMap {
				inner = nil
			}
			all[name] = names(inner)
		}
		return all
	}
	return names(object)
}
