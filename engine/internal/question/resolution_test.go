package question_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// U128: Parse reads every form of a resolution that users write.
func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       question.Resolution
	}{
		{"abort", "abort: true", question.Resolution{Abort: true}},
		{"as seed 001 has it", "abort: false\ncontext:\n  login: Google\n  users: 2\n", question.Resolution{Context: "login: Google\nusers: 2"}},
		{"a text", "context: use Google", question.Resolution{Context: "use Google"}},
		{"lines", "context: |\n  use Google\n  and be quick\n", question.Resolution{Context: "use Google\nand be quick"}},
		{"a list", "context: [a, b: 1]", question.Resolution{Context: "- a\n- b: 1"}},
		{"a number", "context: 5", question.Resolution{Context: "5"}},
		{"nothing to say", "abort: false", question.Resolution{}},
		{"nothing to say, in words", "abort: false\ncontext:", question.Resolution{}},
		{"the example", question.Example, question.Resolution{Context: "TEXT"}},
	} {
		got, faults := question.Parse("r.yaml", []byte(tt.text))
		if diff := cmp.Diff(tt.want, got); diff != "" || len(faults) > 0 {
			t.Errorf("%s: %v %s", tt.name, faults, diff)
		}
	}
}

// An invalid resolution is a fault with a position.
func TestFaults(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "r.yaml:1:1: error[AP-YAML-008]: the resolution is empty (write abort: true or false, and context: a text for the next prompts)"},
		{"nothing in it", "{}", "r.yaml:1:1: error[AP-YAML-102]: the resolution has neither abort nor context (write"},
		{"no map", "yes please", "r.yaml:1:1: error[AP-YAML-101]: a resolution must be a map, not text"},
		{"a word", "abort: maybe", "r.yaml:1:8: error[AP-YAML-101]: abort must be true or false, not text"},
		{"another key", "abort: false\ncontxt: a", "r.yaml:2:1: error[AP-YAML-301]: unknown key \"contxt\" in a resolution (did you mean \"context\"?)"},
		{"no YAML", "abort: false\ncontext: [a", "error[AP-YAML-001]"},
		{"two documents", "abort: false\n---\nabort: true\n", "error[AP-YAML-005]"},
		{"too long", "context: " + strings.Repeat("x", event.MaxText+1), "r.yaml:1:10: error[AP-YAML-006]: the context has 8193 bytes, more than 8192"},
		{"far too long", "context: " + strings.Repeat("x", question.MaxResolution), "r.yaml:1:1: error[AP-YAML-006]: the file has more than 65536 bytes"},
	} {
		_, faults := question.Parse("r.yaml", []byte(tt.text))
		if len(faults) != 1 || !strings.Contains(faults.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, faults)
		}
	}
}

// Every text is an answer or has faults with a position, and its context can be journaled.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"abort: true", "context: {a: [1, ~, x]}", "abort: 1\nb: 2", "- a", "", "context: &a [*a]", "context: \"\\0\"", "? [a]\n: b", "\xff"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, faults := question.Parse("r.yaml", data)
		for _, d := range faults {
			if d.Line < 1 || d.Column < 1 || d.Message == "" || d.Code == "" {
				t.Errorf("a fault without place or words: %+v", d)
			}
		}
		if len(faults) > 0 {
			return
		}
		root, bad := yamldoc.Parse(data)
		if root == nil || len(bad) > 0 || root.Kind != yamldoc.Map || len(r.Context) > event.MaxText {
			t.Errorf("%+v from %q", r, data)
		}
		if abort := root.Get("abort"); abort != nil && abort.Any() != r.Abort || abort == nil && r.Abort {
			t.Errorf("abort is %v in %q", r.Abort, data)
		}
	})
}

// A resolution file that cannot be read is a fault as well.
func TestRead(t *testing.T) {
	d := openDir(t)
	const id = "ESC-20260301120000"
	if _, found := question.Read(d, id); found {
		t.Fatal("there is a resolution before one was written")
	}
	put(t, d, id, "abort: perhaps")
	bad, found := question.Read(d, id)
	const place = ".claude/pipeline-runs/auth/escalations/ESC-20260301120000.resolution.yaml:1:8: "
	if !found || len(bad.Faults) != 1 || !strings.HasPrefix(bad.Faults.Error(), place) {
		t.Errorf("read %v", bad.Faults)
	}
	put(t, d, id, "abort: true")
	if good, found := question.Read(d, id); !found || !good.Abort || len(good.Faults) > 0 || good.Digest == bad.Digest {
		t.Errorf("read %+v", good)
	}
	put(t, d, id, strings.Repeat("#", question.MaxResolution+1))
	if large, _ := question.Read(d, id); !strings.Contains(large.Faults.Error(), "more than 65536 bytes") {
		t.Errorf("read %v", large.Faults)
	}
	name := d.Abs(store.ResolutionFile(id))
	testkit.OK(t, os.Remove(name))
	outside := filepath.Join(t.TempDir(), "r.yaml")
	testkit.OK(t, os.WriteFile(outside, []byte("abort: true"), 0o644))
	testkit.OK(t, os.Symlink(outside, name))
	if led, found := question.Read(d, id); !found || len(led.Faults) != 1 || led.Abort {
		t.Errorf("a link that leads out of the session: %+v", led)
	}
}
