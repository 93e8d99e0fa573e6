package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newDir(t testing.TB) *workspace.Dir {
	t.Helper()
	base := t.TempDir()
	root := filepath.Join(base, "proj")
	for _, dir := range []string{"proj/sub/deep", "proj/..data", "proj-evil"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d, err := workspace.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	for name, target := range map[string]string{
		"etc": "/etc", "evil": filepath.Join(base, "proj-evil"), "self": ".", "up": "..", "sub/up": "../..", "in": "sub/deep", "abs": filepath.Join(d.Path(), "sub"), "loop": "loop", "a": "b", "b": "a",
		"dangling": "/nowhere/at/all", "hops": "in/../up", "new": "sub/new",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// TestResolve: U172, D7: paths in the workspace are resolved, all other paths are refused.
func TestResolve(t *testing.T) {
	d := newDir(t)
	for name, want := range map[string]string{
		"src/file.txt": "src/file.txt", "./src/f": "src/f", "subdir/../f": "f", ".": ".", "sub/": "sub", "sub//deep": "sub/deep", "in/x": "sub/deep/x", "in/../x": "sub/x", "abs/x": "sub/x", "self/self/x": "x",
		"...": "...", "..data/x": "..data/x", "a..b": "a..b", "new": "sub/new", "héé/日本": "héé/日本", "with space": "with space", "sub/../sub/deep": "sub/deep", "-rf": "-rf",
	} {
		if got, err := d.Resolve(name); got != want || err != nil {
			t.Errorf("%q is %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{
		"", "..", "../x", "a/../../x", "../../../etc/passwd", `..\..\..\windows\system32\config\sam`, "/etc/passwd", `C:\Windows\System32`, "C:/Windows", "c:x", "/", "../proj-evil/x", "~", "~/x", "~root", "a\x00b", "a\nb", "a\u202eb", "\u200b",
		"a\uff0e\uff0e/x", "\u2024\u2024/x", "\u2025/x", "\u2026", "a\u2044b", "a\u2215b", "a\uff0fb", `a\b`, "a\uff3cb", "\ufe52\ufe52/x", "a\xff", strings.Repeat("a/", workspace.MaxPath/2) + "b",
		"etc", "etc/passwd", "evil/x", "up", "up/proj/x", "sub/up/x", "self/../x", "self/up", "dangling", "dangling/x", "hops", "loop", "a", "a/x", "in/../../../x", d.Path(), d.Path() + "/x", d.Path() + "-evil/x", "//x",
	} {
		got, err := d.Resolve(name)
		if outside := (*workspace.OutsideError)(nil); !errors.As(err, &outside) || !strings.Contains(err.Error(), "outside the workspace") {
			t.Errorf("%q is %q, %v", name, got, err)
		}
	}
}

// TestResolveEntry: U172: the last link of a path is not followed, earlier links are.
func TestResolveEntry(t *testing.T) {
	d := newDir(t)
	for name, want := range map[string]string{"etc": "etc", "in": "in", "in/x": "sub/deep/x", "self/etc": "etc", "loop": "loop"} {
		if got, err := d.ResolveEntry(name); got != want || err != nil {
			t.Errorf("%q is %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"etc/passwd", "..", "up/x", "etc/"} {
		if got, err := d.ResolveEntry(name); err == nil {
			t.Errorf("%q is %q", name, got)
		}
	}
}

// TestEscapes: Escapes recognizes the error of os.Root.
func TestEscapes(t *testing.T) {
	d := newDir(t)
	for _, name := range []string{"etc/passwd", "evil/x", "../x"} {
		if _, err := d.Root().Open(name); !workspace.Escapes(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := d.Root().Open("none"); workspace.Escapes(err) {
		t.Errorf("a missing file escapes: %v", err)
	}
}

// FuzzResolve: D7: no accepted path leads outside by the rules of any system.
func FuzzResolve(f *testing.F) {
	for _, p := range []string{"a/b", "../x", "a/../../x", "/etc", `a\b`, "C:x", "etc/passwd", "in/../x", "self/../..", "\uff0e\uff0e/x", "a\x00", "sub/up/../x", "up/proj/x", "./././a", "hops/x"} {
		f.Add(p)
	}
	d := newDir(f)
	f.Fuzz(func(t *testing.T, p string) {
		got, err := d.Resolve(p)
		if err != nil {
			return
		}
		if !filepath.IsLocal(got) || strings.ContainsAny(got, "\\\x00\n") || filepath.IsAbs(got) {
			t.Fatalf("%q is %q", p, got)
		}
		if target, err := filepath.EvalSymlinks(d.Path() + "/" + p); err == nil {
			if rel, err := filepath.Rel(d.Path(), target); err != nil || filepath.ToSlash(rel) != got {
				t.Fatalf("%q is %q, and for the system %q", p, got, target)
			}
		}
		if again, err := d.Resolve(got); err != nil || again != got {
			t.Fatalf("%q is %q, and that %q, %v", p, got, again, err)
		}
	})
}
