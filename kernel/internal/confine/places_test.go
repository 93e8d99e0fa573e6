package confine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/confine"
)

// places are a project and a home with a few directories, and a link.
func places(t *testing.T) (confine.Places, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"project/a", "house/.agent", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "house/link")); err != nil {
		t.Fatal(err)
	}
	return confine.Places{
		Project: filepath.Join(dir, "project"), Home: filepath.Join(dir, "house"),
		Variable: func(name string) string {
			return map[string]string{"DIR": filepath.Join(dir, "elsewhere"), "RELATIVE": "x"}[name]
		},
	}, dir
}

func TestGrants(t *testing.T) {
	p, dir := places(t)
	got, err := p.Grants("read", []string{"a", "./a", "~/.agent", "~", "~/link", "/usr"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{dir + "/project/a", dir + "/project/a", dir + "/house/.agent", dir + "/house", dir + "/elsewhere", "/usr"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := p.Grants("write", []string{"missing"}); err == nil || !strings.Contains(err.Error(), "sandbox grants write of "+dir+"/project/missing: it does not exist") {
		t.Errorf("a path that is missing: %v", err)
	}
	p.Home = ""
	if _, err := p.Grants("read", []string{"~/x"}); err == nil || !strings.Contains(err.Error(), "it is not known where the home directory is") {
		t.Errorf("no home: %v", err)
	}
}

// What a component asks for and is not there is left out; a variable must lead to an absolute path.
func TestNeeds(t *testing.T) {
	p, dir := places(t)
	got := p.Needs([]string{"~/.agent", "~/missing", "${DIR}", "${DIR}/missing", "${RELATIVE}", "${NONE}/x", "a", "/usr"})
	if diff := cmp.Diff([]string{dir + "/house/.agent", dir + "/elsewhere", "/usr"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
