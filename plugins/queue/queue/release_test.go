package queue

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// The beads of a dead session become open again (REQUIREMENTS U062).
func TestRelease(t *testing.T) {
	tests := []struct {
		name  string
		list  string
		calls string
		fault string
	}{
		{"two beads", `[{"id": "b-7"}, {"id": "b-8", "title": "x"}]`, "bd update b-7 --status=open\nbd update b-8 --status=open\n", ""},
		{"none", "[]", "", ""},
		{"no text", "", "", ""},
		{"one cannot be reopened", `[{"id": "stuck"}, {"id": "b-8"}]`, "bd update stuck --status=open\nbd update b-8 --status=open\n", "exited with code 3"},
		{"invalid ids", `[{"id": "--all"}, {"id": ""}]`, "", ""},
		{"no list", `{"error": "locked"}`, "", "list that bd printed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, log := newTestStrategy(t, "BD_LIST="+tt.list)
			if err := s.Init(t.Context(), sdk.InitRequest{WorkDir: t.TempDir()}); err != nil {
				t.Fatal(err)
			}
			err := s.Release(t.Context(), "auth")
			if (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("error %v, want %q", err, tt.fault)
			}
			want := "bd list --label=pipeline/auth --status=in_progress --json\n" + tt.calls
			if diff := cmp.Diff(want, readFile(t, log)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReleaseWithoutBeads(t *testing.T) {
	s, _ := newTestStrategy(t, "PATH=/nowhere")
	if err := s.Release(t.Context(), "auth"); err != nil {
		t.Errorf("error %v, want none: there is no bd and so no bead", err)
	}
}

func FuzzBeadIDs(f *testing.F) {
	for _, seed := range []string{"", "[]", `[{"id":"b-1"}]`, `[{"id":"--status"}]`, `{`, "null"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := beadIDs(text)
		if err != nil && ids != nil {
			t.Errorf("ids %q beside error %v", ids, err)
		}
		for _, id := range ids {
			if id == "" || strings.HasPrefix(id, "-") {
				t.Errorf("id %q would be read as an option", id)
			}
		}
	})
}
