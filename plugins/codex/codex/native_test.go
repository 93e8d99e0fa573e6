package codex

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNative(t *testing.T) {
	const program = "vendor/x86_64-unknown-linux-musl/bin/codex"
	tests := []struct {
		name  string
		files []string // below node_modules; executable
		arch  string
		want  string // below node_modules; "" is the unchanged path
	}{
		{"beside", []string{"@openai/codex/bin/codex.js", "@openai/codex-linux-x64/" + program}, "amd64", "@openai/codex-linux-x64/" + program},
		{
			"nested",
			[]string{"@openai/codex/bin/codex.js", "@openai/codex/node_modules/@openai/codex-linux-x64/" + program},
			"amd64",
			"@openai/codex/node_modules/@openai/codex-linux-x64/" + program,
		},
		{"inside", []string{"@openai/codex/bin/codex.js", "@openai/codex/" + program}, "amd64", "@openai/codex/" + program},
		{
			"of a workspace above",
			[]string{"app/node_modules/@openai/codex/bin/codex.js", "@openai/codex-linux-x64/" + program},
			"amd64",
			"@openai/codex-linux-x64/" + program,
		},
		{"not installed", []string{"@openai/codex/bin/codex.js"}, "amd64", ""},
		{"another processor", []string{"@openai/codex/bin/codex.js", "@openai/codex-linux-x64/" + program}, "arm64", ""},
		{"unknown processor", []string{"@openai/codex/bin/codex.js", "@openai/codex-linux-x64/" + program}, "riscv64", ""},
		{"no wrapper", []string{"@openai/codex/bin/codex", "@openai/codex-linux-x64/" + program}, "amd64", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			modules := filepath.Join(root, "node_modules")
			for _, file := range tt.files {
				path := filepath.Join(modules, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			link := filepath.Join(root, "codex")
			if err := os.Symlink(filepath.Join(modules, tt.files[0]), link); err != nil {
				t.Fatal(err)
			}
			want := link
			if tt.want != "" {
				want = filepath.Join(modules, tt.want)
			}
			if got := nativeProgram(link, "linux", tt.arch); got != want {
				t.Errorf("native = %s, want %s", got, want)
			}
		})
	}
	t.Run("on macOS", func(t *testing.T) {
		modules := filepath.Join(t.TempDir(), "node_modules", "@openai")
		for _, file := range []string{"codex/bin/codex.js", "codex-darwin-arm64/vendor/aarch64-apple-darwin/bin/codex"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(modules, file)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(modules, file), nil, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		got := nativeProgram(filepath.Join(modules, "codex/bin/codex.js"), "darwin", "arm64")
		if want := "codex-darwin-arm64/vendor/aarch64-apple-darwin/bin/codex"; !strings.HasSuffix(got, want) {
			t.Errorf("native = %s, want …/%s", got, want)
		}
	})
	if got := nativeProgram("/nowhere/codex", "linux", "amd64"); got != "/nowhere/codex" {
		t.Errorf("native of a missing file = %s", got)
	}
}

// TestNativeOfPnpm: pnpm installs a shell script as the command, and packages as links into its store.
func TestNativeOfPnpm(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const program = "vendor/x86_64-unknown-linux-musl/bin/codex"
	file := func(name, content string) string {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(name, target string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	file("nm/.pnpm/codex@1/node_modules/@openai/codex/bin/codex.js", "")
	file("nm/.pnpm/codex@1-linux-x64/node_modules/@openai/codex/"+program, "")
	link("nm/.pnpm/codex@1/node_modules/@openai/codex-linux-x64", "../../../codex@1-linux-x64/node_modules/@openai/codex")
	link("nm/@openai/codex", "../.pnpm/codex@1/node_modules/@openai/codex")
	command := file("nm/.bin/codex", `#!/bin/sh
basedir=$(dirname "$0")
if [ -x "$basedir/node" ]; then
  exec "$basedir/node"  "$basedir/../@openai/codex/bin/codex.js" "$@"
else
  exec node  "$basedir/../@openai/codex/bin/codex.js" "$@"
fi
`)
	want := filepath.Join(root, "nm/.pnpm/codex@1/node_modules/@openai/codex-linux-x64", program)
	if got := nativeProgram(command, "linux", "amd64"); got != want {
		t.Errorf("native = %s, want %s", got, want)
	}

	broken := file("bin/codex", "#!/bin/sh\nexec node \"$basedir/../@openai/codex/bin/codex.js\" \"$@\"\n")
	other := file("other/codex", "#!/bin/sh\nexec node \"$basedir/../@openai/codex/bin/other.js\" \"$@\"\n")
	for _, path := range []string{broken, other} {
		if got := nativeProgram(path, "linux", "amd64"); got != path {
			t.Errorf("native = %s, want the script %s itself", got, path)
		}
	}
}

// FuzzShimTarget: a detected wrapper's path is in the script, and is the wrapper's.
func FuzzShimTarget(f *testing.F) {
	f.Add("#!/bin/sh\nexec node  \"$basedir/../@openai/codex/bin/codex.js\" \"$@\"\n")
	f.Add("#!/bin/sh\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, script string) {
		got := shimTarget(script)
		if got != "" && (!strings.HasSuffix(got, "/@openai/codex/bin/codex.js") || !strings.Contains(script, "$basedir/"+got)) {
			t.Errorf("%q starts %q", script, got)
		}
	})
}
