package run

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// U018, U019, U112, C3: the options that the flags set.
func TestEntryFlags(t *testing.T) {
	for _, tt := range []struct {
		line string
		want engine.RunOptions
	}{
		{"", engine.RunOptions{}},
		{"--start red", engine.RunOptions{Start: "red"}},
		{"--skip-to green", engine.RunOptions{Start: "green"}},
		{"--exit-after spec -s", engine.RunOptions{ExitAfter: "spec", Supervised: true}},
		{"-i", engine.RunOptions{Iterate: []string{"spec"}}},
		{"--iterate --iterate=red", engine.RunOptions{Iterate: []string{"spec", "red"}}},
		{"--artifact a=x=y --artifact spec=s.yaml", engine.RunOptions{Artifacts: map[string]string{"a": "x=y", "spec": "s.yaml"}}},
		{"--from-spec s.yaml --start=red --artifact a=b", engine.RunOptions{Start: "red", Artifacts: map[string]string{"a": "b", "spec": "s.yaml"}}},
		{"--delivery-mode patch", engine.RunOptions{Fields: map[string]string{"delivery_mode": "patch"}}},
	} {
		t.Run(tt.line, func(t *testing.T) {
			f := parseEntry(t, strings.Fields(tt.line))
			var got engine.RunOptions
			check(t, f.Apply(&got))
			compare(t, tt.want, got)
		})
	}
}

func TestEntryFlagsThatContradict(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"--from-spec x --start green", "--start says green"},
		{"--from-spec x --artifact spec=y", "the artifact spec has two files: y and x"},
		{"--artifact a=x --artifact a=y", "the artifact a has two files: x and y"},
		{"--artifact a", "--artifact cannot be 'a'"},
		{"--artifact =a", "--artifact cannot be '=a'"},
		{"--artifact a=", "--artifact cannot be 'a='"},
		{"--start out", "begins with out, which --skip leaves out"},
		{"--exit-after out", "ends after out, which --skip leaves out"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			f := parseEntry(t, strings.Fields(tt.line))
			err := f.Apply(&engine.RunOptions{Skip: []string{"out"}})
			if cli.ExitFor(err) != cli.ExitUsage || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want bad arguments: %q", err, tt.want)
			}
		})
	}
}

func parseEntry(t *testing.T, flags []string) EntryFlags {
	t.Helper()
	var grammar struct {
		Pipeline Pipeline `cmd:""`
	}
	parser := must(kong.New(&grammar))
	if _, err := parser.Parse(append([]string{"pipeline", "p", "s"}, flags...)); err != nil {
		t.Fatal(err)
	}
	return grammar.Pipeline.EntryFlags
}
