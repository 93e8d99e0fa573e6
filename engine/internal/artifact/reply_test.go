package artifact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// U152: a fenced block first, then the whole reply, then an object in prose.
func TestFromReply(t *testing.T) {
	one := map[string]any{"a": 1}
	for _, tt := range []struct {
		name, text  string
		sure, loose map[string]any // where the reply has to hold it, and where it may
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

// FuzzFromReply checks that the blocks of any reply are parts of it, and that a found artifact is found again after
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
