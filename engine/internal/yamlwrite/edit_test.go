package yamlwrite_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dodo-digital/agent-pipelines/engine/internal/yamlwrite"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

func TestSet(t *testing.T) {
	const file = `# mine
defaults: # of all
  provider: claude # the best
  # pauses
  delay: "2"
commands:
  test: |
    go test ./...

    go vet ./...
# the end
providers: {claude: {model: opus}, codex: null}
`
	for _, tt := range []struct {
		name, from, key, value string
		text                   bool
		want                   string
	}{
		{"a scalar", file, "defaults.provider", "codex", true, strings.Replace(file, "claude #", "codex #", 1)},
		{"a quoted one", file, "defaults.delay", "3", false, strings.Replace(file, `"2"`, "3", 1)},
		{"text is quoted where it has to be", file, "defaults.provider", "off", true, strings.Replace(file, "claude #", `"off" #`, 1)},
		{"a new key behind the last", file, "commands.lint", "a: b", true, strings.Replace(file, "vet ./...\n", "vet ./...\n  lint: 'a: b'\n", 1)},
		{"a new map at the end", file, "sandbox.mode", "strict", false, file + "sandbox:\n  mode: strict\n"},
		{"within a flow map", file, "providers.claude.model", "haiku", true, strings.Replace(file, "opus", "haiku", 1)},
		{"a new key in braces", file, "providers.claude.sandbox", "{mode: strict}", false, strings.Replace(file, "opus}", "opus, sandbox: {mode: strict}}", 1)},
		{"an empty file", "", "defaults.delay", "2.5", false, "defaults:\n  delay: 2.5\n"},
		{"comments alone", "# mine\n\n", "defaults.delay", "2", false, "# mine\ndefaults:\n  delay: 2\n"},
		{"a map without members", "commands:\n", "commands.test", "go test", true, "commands:\n  test: go test\n"},
		{"no newline at the end", "a: 1", "b", "2", false, "a: 1\nb: 2\n"},
		{"a map for a scalar", "a: 1 # one\nb: 2\n", "a", "{c: 3}", false, "a: {c: 3} # one\nb: 2\n"},
		{"a text of two lines", "a: 1\n", "a", "x\ny", true, "a: |-\n  x\n  y\n"},
		{"nothing", "a: 1\n", "a", "", false, "a: null\n"},
		{"an escaped quote", `a: "x\"y" # c` + "\n", "a", "z", true, "a: z # c\n"},
		{"single quotes", "a: 'x''y' # c\n", "a", "z", true, "a: z # c\n"},
		{"all lines get the usual form", "a:   # one\n    - x\n\n    # two\n    - {c: }\n", "b", "2", false, "a: # one\n  - x\n  # two\n  - {c: null}\nb: 2\n"},
		{"deeper lists stay", "a:\n  - x\n  - y\nb: 1\n", "a", "[z]", false, "a: [z]\nb: 1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := yamlwrite.Set([]byte(tt.from), strings.Split(tt.key, "."), tt.value, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	for _, tt := range []struct{ from, key, value, want string }{
		{"a: 1\n", "a.b", "2", "a is not a map (line 1)"},
		{"a: &x {b: 1}\nc: *x\n", "c.b", "2", "c is an alias of an anchor (line 2): edit the file"},
		{"a: 1\n", "a", "[", "did not find expected node content"},
		{"- a\n", "a", "1", "the file is not a map (line 1)"},
	} {
		_, err := yamlwrite.Set([]byte(tt.from), strings.Split(tt.key, "."), tt.value, false)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q, %s: %v, want %q", tt.from, tt.key, err, tt.want)
		}
	}
}

var printable = regexp.MustCompile(`^[\n\x20-\x7e]*$`)

// FuzzSet checks that Set sets the value and keeps everything else, for any document.
func FuzzSet(f *testing.F) {
	f.Add("a: 1\nb: {c: 2} # x\n", "a")
	f.Add("b:\n    x: |\n      y\n\n      z\n  # c\n", "b\u00e4 # no\n")
	f.Add("? x\n: y\n\"a\": 'b''c'\n", "")
	f.Fuzz(func(t *testing.T, from, value string) {
		before, faults := yamldoc.Parse([]byte(from))
		if len(faults) > 0 || before != nil && before.Kind != yamldoc.Map || !printable.MatchString(value) {
			return
		}
		got, err := yamlwrite.Set([]byte(from), []string{"a"}, value, true)
		if err != nil {
			return
		}
		after, faults := yamldoc.Parse(got)
		if len(faults) > 0 {
			t.Fatalf("%q becomes %q: %v", from, got, faults)
		}
		if a := after.Get("a"); a == nil || a.Kind != yamldoc.Text || a.Source != value {
			t.Fatalf("%q becomes %q", from, got)
		}
		if without(before) != without(after) {
			t.Fatalf("%q becomes %q: something else changed", from, got)
		}
	})
}

// without returns the document as JSON, without the member a, which FuzzSet sets.
func without(n *yamldoc.Node) string {
	all := map[string]any{}
	if n != nil && n.Kind == yamldoc.Map {
		all = n.Any().(map[string]any)
	}
	delete(all, "a")
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(text)
}

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
