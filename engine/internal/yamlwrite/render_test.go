package yamlwrite_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dodo-digital/agent-pipelines/engine/internal/yamlwrite"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

func TestRender(t *testing.T) {
	got, err := yamlwrite.Render([]yamlwrite.Member{
		{"_meta", map[string]any{"version": "1.0", "name": "a"}}, {"when", "2026-01-02"}, {"list", []any{map[string]any{"b": 1, "a": "yes"}, nil, 0.5}}, {"2", "two\nlines\n"},
	})
	want := "_meta:\n  name: a\n  version: \"1.0\"\nwhen: \"2026-01-02\"\nlist:\n  - a: \"yes\"\n    b: 1\n  - null\n  - 0.5\n\"2\": |\n  two\n  lines\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, string(got)))
	}
	if got, err := yamlwrite.Render(nil); string(got) != "{}\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// FuzzRender checks that rendered values are read as the same values, for any texts and keys.
func FuzzRender(f *testing.F) {
	for _, seed := range []string{
		`{"a":"x"}`, `{"<<":{"a":1}}`, `{"a":{"<<":{"a":"<<"}}}`, `{"":"","~":"~","null":null}`, `{"a":"\u0000\u007f\ufeff\ufffe\u0085\u2028"}`, `{"a":" x\n\n y\t\n"}`,
		`{"a":["yes","1e3","0x1","1:30","*a","&b","!!int","- x","# c","a: b"]}`, `{"a":[1e400,1e300,-0,12345678901234567890,0.1]}`, `{"a":"\r\n"}`, `{"=":"="}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m map[string]any
		if json.Unmarshal(data, &m) != nil {
			return
		}
		members := []yamlwrite.Member{}
		for _, key := range slices.Sorted(maps.Keys(m)) {
			members = append(members, yamlwrite.Member{Key: key, Value: m[key]})
		}
		text, err := yamlwrite.Render(members)
		if err != nil {
			t.Fatal(err)
		}
		root, faults := yamldoc.ParseData(text)
		if len(faults) > 0 {
			for _, f := range faults {
				if f.Code == yamldoc.CodeSize {
					return
				}
			}
			t.Fatalf("%v in\n%s", faults, text)
		}
		var got map[string]any
		if err := json.Unmarshal(root.JSON(), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s in\n%s", diff, text)
		}
	})
}
