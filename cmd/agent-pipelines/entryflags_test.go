package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel"
)

// U018, U019, U112, C3: what the flags of the entry come to.
func TestEntryFlags(t *testing.T) {
	for _, tt := range []struct {
		line string
		want kernel.RunOptions
	}{
		{"", kernel.RunOptions{}},
		{"--start red", kernel.RunOptions{Start: "red"}},
		{"--skip-to green --start=green", kernel.RunOptions{Start: "green"}},
		{"--exit-after spec -s", kernel.RunOptions{ExitAfter: "spec", Supervised: true}},
		{"-i", kernel.RunOptions{Iterate: []string{"spec"}}},
		{"--iterate --iterate=red", kernel.RunOptions{Iterate: []string{"spec", "red"}}},
		{"--artifact a=x=y --artifact spec=s.yaml", kernel.RunOptions{Artifacts: map[string]string{"a": "x=y", "spec": "s.yaml"}}},
		{"--from-spec s.yaml --start=red --artifact a=b", kernel.RunOptions{Start: "red", Artifacts: map[string]string{"a": "b", "spec": "s.yaml"}}},
		{"--delivery-mode patch", kernel.RunOptions{Fields: map[string]string{"delivery_mode": "patch"}}},
	} {
		t.Run(tt.line, func(t *testing.T) {
			f := parseEntry(t, strings.Fields(tt.line))
			var got kernel.RunOptions
			if err := f.over(&got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			var again kernel.RunOptions
			f = parseEntry(t, entryArguments(got))
			if err := f.over(&again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("another process is told something else: %s", diff)
			}
		})
	}
}

func TestEntryFlagsThatContradict(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"--start red --skip-to green", "contradict each other"},
		{"--from-spec x --start green", "--start says green"},
		{"--from-spec x --artifact spec=y", "both give the artifact of spec"},
		{"--artifact a=x --artifact a=y", "names a twice: x and y"},
		{"--artifact a", "--artifact cannot be 'a'"},
		{"--artifact =a", "--artifact cannot be '=a'"},
		{"--artifact a=", "--artifact cannot be 'a='"},
		{"--start out", "begins with out, which --skip leaves out"},
		{"--exit-after out", "ends after out, which --skip leaves out"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			f := parseEntry(t, strings.Fields(tt.line))
			err := f.over(&kernel.RunOptions{Skip: []string{"out"}})
			if exitOf(err) != exitUsage || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want bad arguments: %q", err, tt.want)
			}
		})
	}
}

func parseEntry(t *testing.T, flags []string) entryFlags {
	t.Helper()
	var l line
	if _, err := newParser(&l, environmentOf(nil)).Parse(append([]string{"pipeline", "p", "s"}, flags...)); err != nil {
		t.Fatal(err)
	}
	return l.Pipeline.entryFlags
}
