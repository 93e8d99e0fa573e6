package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/bench/internal/gate"
	"github.com/dodo-digital/agent-pipelines/bench/internal/measure"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSmoke measures everything once with the real programs, so that all parts keep working. It
// only checks that every value is a number, which [table.Write] requires.
func TestSmoke(t *testing.T) {
	document := filepath.Join(t.TempDir(), "performance.md")
	t.Setenv("TMPDIR", shortDir(t)) // bench uses it from here on
	if err := os.WriteFile(document, []byte("# Figures\n\n"+table.Begin+"\n"+table.End+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, progress strings.Builder
	err := run(t.Context(), options{root: "..", update: document, bash: "testdata/bash.json", effort: measure.Smoke()}, &out, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	for _, part := range []string{
		table.Header, "| iterations | iteration, agent in the engine's process, processor time |", "at most 1.5×",
		"| events | status of a session of 10 events | ", "resume of a session of 30 events, command's start to the agent's call", "resume of a session of 30 events, processor time of the kernel",
		"a block of 3 providers whose agents work", "size of agent-plugin-mock", "a line of 16 appenders",
		"of 2 live sessions in one engine", "-only PART",
		"iteration, mock plugin in its process", "kernel's work for iteration 6, without the list", "list of 1,000 earlier outputs",
		"(U109)", "(U056)", "with strategy full",
		"call of a plugin", "| journal | journal, append of a line", "start of the command", "; commit ",
		"a tool call, from a model's reply to its next request", "a step, from the last reply",
		"| the Bash engine, recorded (99 programs started) | 1.50 s |", "| the Bash engine, recorded | 6.00 s |", "| the Bash engine, recorded | 1.00 s |",
		"| the Bash engine, recorded, 54 events | 2.00 s |", "| the Bash engine, recorded, replay of the 10 events alone | 5.00 s |", "theirs starts 99 programs",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the table lacks %q:\n%s", part, &out)
		}
	}
	updated, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(updated), table.Begin+"\n"+out.String()+table.End) {
		t.Errorf("the document does not have the table:\n%s", updated)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("%s is left behind", e.Name())
	}
}

// shortDir returns a temporary directory whose path is short enough for a Unix socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "b-") //nolint:usetesting // t.TempDir puts the test's name into the path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestRecord records the ratio of one part again. make bench-gate measures every recorded row.
func TestRecord(t *testing.T) {
	record, err := gate.Read("baseline.json")
	if err != nil {
		t.Fatal(err)
	}
	record.Rows = slices.DeleteFunc(record.Rows, func(r gate.Row) bool { return r.Part != "calls" })
	t.Setenv("TMPDIR", shortDir(t))
	file := filepath.Join(t.TempDir(), "baseline.json")
	if err := record.Write(file); err != nil {
		t.Fatal(err)
	}
	var progress strings.Builder
	if err := run(t.Context(), options{root: "..", gate: file, record: true, dir: os.TempDir(), effort: measure.Smoke()}, &strings.Builder{}, &progress); err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	renewed, err := gate.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(renewed.Rows) != 1 || renewed.Rows[0].Ratio == record.Rows[0].Ratio || renewed.Machine == record.Machine {
		t.Errorf("recorded again: %+v", renewed)
	}
}

// TestOnDisk checks that the gate measures on a disk, where a sync has a cost.
func TestOnDisk(t *testing.T) {
	root := t.TempDir()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(root, "bin")
	for name, tt := range map[string]struct {
		memory []string // directories in memory
		want   string   // "": refused
	}{
		"the workspace":              {[]string{os.TempDir()}, bin},
		"a workspace in memory":      {[]string{bin, os.TempDir()}, cache},
		"no disk but for other data": {[]string{bin, cache, "/var/tmp", os.TempDir()}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := onDisk(root, func(dir string) string {
				if slices.Contains(tt.memory, dir) {
					return "tmpfs"
				}
				return "ext4"
			})
			if dir != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("got %q, %v; want %q", dir, err, tt.want)
			}
			if err != nil && !strings.Contains(err.Error(), "-dir") {
				t.Errorf("it does not say what to do: %v", err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	if err := run(t.Context(), options{root: t.TempDir()}, &strings.Builder{}, &strings.Builder{}); err == nil ||
		!strings.Contains(err.Error(), "-root") {
		t.Errorf("outside a workspace: %v", err)
	}
	incomplete := filepath.Join(t.TempDir(), "bash.json")
	if err := os.WriteFile(incomplete, []byte(`{"per_iteration_seconds": {"wall": 1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{incomplete: "is missing", "absent.json": "absent.json"} {
		if err := run(t.Context(), options{root: "..", bash: file}, &strings.Builder{}, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("figures of the Bash engine in %s: %v", file, err)
		}
	}
	for flags, o := range map[string]options{
		"-gate with -only": {gate: "x", only: []string{"calls"}}, "-gate with -update": {gate: "x", update: "y"}, "-record alone": {record: true},
		"-only with -update": {only: []string{"calls"}, update: "y"}, "-gate of no file": {gate: "absent.json"},
	} {
		o.root = ".."
		if err := run(t.Context(), o, &strings.Builder{}, &strings.Builder{}); err == nil {
			t.Errorf("%s: no error", flags)
		}
	}
	other := filepath.Join(t.TempDir(), "beside.md")
	if err := os.WriteFile(other, []byte("| part |\n|---|\n| iterations | an iteration | 5 ms | the Bash engine, recorded |\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), options{root: "..", update: other}, &strings.Builder{}, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "BENCH_BASH") {
		t.Errorf("a document whose rows beside the Bash engine would go: %v", err)
	}
	unmarked := filepath.Join(t.TempDir(), "x.md")
	if err := os.WriteFile(unmarked, []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := update(unmarked, "table"); err == nil || !strings.Contains(err.Error(), table.Begin) {
		t.Errorf("a document without marks: %v", err)
	}
}
