package sandboxpolicy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
)

// testResolver returns a resolver for a project and a home with a few directories and a link.
func testResolver(t *testing.T) (sandboxpolicy.Resolver, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"project/a", "home/.agent", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "home/link")); err != nil {
		t.Fatal(err)
	}
	return sandboxpolicy.Resolver{
		Project: filepath.Join(dir, "project"), Home: filepath.Join(dir, "home"),
		Variable: func(name string) string {
			return map[string]string{"DIR": filepath.Join(dir, "elsewhere"), "RELATIVE": "x"}[name]
		},
	}, dir
}

// A link in a directory that agents write grants nothing outside of it: an agent may have made the link.
func TestGrantsThroughLinks(t *testing.T) {
	p, dir := testResolver(t)
	for _, at := range []string{"project/out", "home/.agent/out", "alias"} {
		to := filepath.Join(dir, "elsewhere")
		if at == "alias" {
			to = filepath.Join(dir, "project")
		}
		if err := os.Symlink(to, filepath.Join(dir, at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "project/in")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		grant    string
		writable []string
		refused  bool
	}{
		{"out", nil, true},
		{"in", nil, false},
		{dir + "/alias/out", nil, true},
		{"~/.agent/out", nil, false},
		{"~/.agent/out", []string{"~/.agent"}, true},
		{"~/.agent/out", []string{"~/.agent", "~/.agent/out"}, true},
		{"~/link", []string{"~/.agent"}, false},
	} {
		_, err := p.ResolveGrants("read", []string{tt.grant}, tt.writable)
		if refused := err != nil && strings.Contains(err.Error(), "an agent may have made it"); refused != tt.refused {
			t.Errorf("%s beside %v: %v, want refused: %v", tt.grant, tt.writable, err, tt.refused)
		}
	}
}

func TestGrants(t *testing.T) {
	p, dir := testResolver(t)
	got, err := p.ResolveGrants("read", []string{"a", "./a", "~/.agent", "~", "~/link", "/usr"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{dir + "/project/a", dir + "/project/a", filepath.Join(dir, "home", ".agent"), dir + "/home", dir + "/elsewhere", "/usr"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := p.ResolveGrants("write", []string{"missing"}, nil); err == nil || !strings.Contains(err.Error(), "sandbox grants write of "+dir+"/project/missing: it does not exist") {
		t.Errorf("a path that is missing: %v", err)
	}
	p.Home = ""
	if _, err := p.ResolveGrants("read", []string{"~/x"}, nil); err == nil || !strings.Contains(err.Error(), "the home directory is unknown") {
		t.Errorf("no home: %v", err)
	}
}

// Missing paths of a component are skipped. A variable must hold an absolute path.
func TestNeeds(t *testing.T) {
	p, dir := testResolver(t)
	got := p.ResolveNeeds([]string{"~/.agent", "~/missing", "${DIR}", "${DIR}/missing", "${RELATIVE}", "${NONE}/x", "a", "/usr"})
	if diff := cmp.Diff([]string{filepath.Join(dir, "home", ".agent"), dir + "/elsewhere", "/usr"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
