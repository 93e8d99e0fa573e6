package catalog

import (
	"os"
	"path/filepath"
	"testing"
)

// DESIGN 6: a project cannot trust itself. Configuration inside the project counts as the user's only if the
// home directory is inside, too.
func TestTrusts(t *testing.T) {
	for _, tt := range []struct {
		name, config, home string
		owned              bool
	}{
		{"the user's", "home/.config/agent-pipelines", "home", false},
		{"in the project", "project/.config/agent-pipelines", "home", true},
		{"in the project, without a home", "project/.config/agent-pipelines", "", true},
		{"in the project, by a link", "link/config", "home", true},
		{"beside the project", "project-more", "home", false},
		{"in a home that the project holds", "project/home/.config/agent-pipelines", "project/home", false},
		{"in a home that is the project", "project/.config/agent-pipelines", "project", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := tempRoot(t)
			tree(t, base, map[string]os.FileMode{
				"project/.claude/": os.ModeDir | 0o755, "project/home/": os.ModeDir | 0o755, "home/": os.ModeDir | 0o755,
			})
			project, home := filepath.Join(base, "project"), ""
			if tt.home != "" {
				home = filepath.Join(base, tt.home)
			}
			check(t, os.Symlink(project, filepath.Join(base, "link")))
			store := Store{Dir: filepath.Join(base, tt.config)}
			check := func(want bool) {
				t.Helper()
				if got := ConfigInProject(store.Dir, project, home); got != tt.owned {
					t.Errorf("owned is %v, want %v", got, tt.owned)
				}
				if got, err := TrustFunc(store, project, home)(project); got != want || err != nil {
					t.Errorf("trusted is %v, %v, want %v", got, err, want)
				}
			}
			check(false)
			if err := store.Trust(project); err != nil { // as a repository that brings the file would
				t.Fatal(err)
			}
			check(!tt.owned)
		})
	}
}
