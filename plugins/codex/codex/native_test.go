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
		on    string
		want  string // below node_modules; "" is the unchanged path
	}{
		{"beside", []string{"@openai/codex/bin/codex.js", "@openai/codex-linux-x64/" + program}, "linux/amd64", "@openai/codex-linux-x64/" + program},
		{
			"nested",
			[]string{"@openai/codex/bin/codex.js", "@openai/codex/node_modules/@openai/codex-linux-x64/" + program},
			"linux/amd64",
			"@openai/codex/node_modules/@openai/codex-linux-x64/" + program,
		},
		{"inside", []string{"@openai/codex/bin/codex.js", "@openai/codex/" + program}, "linux/amd64", "@openai/codex/" + program},
		{
			"of a workspace above",
			[]string{"app/node_modules/@openai/codex/bin/codex.js", "@openai/codex-linux-x64/" + program},
			"linux/amd64",
			"@openai/codex-linux-x64/" + program,
		},
		{"on macOS", []string{"@openai/codex/bin/codex.js", "@openai/codex-darwin-arm64/vendor/aarch64-apple-darwin/bin/codex"}, "darwin/arm64", "@openai/codex-darwin-arm64/vendor/aarch64-apple-darwin/bin/codex"},
		{"not installed", []string{"@openai/codex/bin/codex.js"}, "linux/amd64", ""},
		{"another processor", []string{"@openai/codex/bin/codex.js", "@openai/codex-linux-x64/" + program}, "linux/arm64", ""},
		{"unknown processor", []string{"@openai/codex/bin/codex.js", "@openai/codex-linux-x64/" + program}, "linux/riscv64", ""},
		{"no wrapper", []string{"@openai/codex/bin/codex", "@openai/codex-linux-x64/" + program}, "linux/amd64", ""},
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
			goos, goarch, _ := strings.Cut(tt.on, "/")
			if got := nativeProgram(link, goos, goarch); got != want {
				t.Errorf("native = %s, want %s", got, want)
			}
		})
	}
	if got := nativeProgram("/nowhere/codex", "linux", "amd64"); got != "/nowhere/codex" {
		t.Errorf("native of a missing file = %s", got)
	}
}
