package codex

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNative(t *testing.T) {
	const program = "vendor/x86_64-unknown-linux-musl/bin/codex"
	tests := []struct {
		name  string
		files []string // below node_modules; executable
		arch  string
		want  string // below node_modules; "" is the path as it was given
	}{
		{"beside", []string{"@openai/codex/bin/codex.js", "@openai/codex-linux-x64/" + program}, "amd64", "@openai/codex-linux-x64/" + program},
		{
			"nested",
			[]string{"@openai/codex/bin/codex.js", "@openai/codex/node_modules/@openai/codex-linux-x64/" + program},
			"amd64",
			"@openai/codex/node_modules/@openai/codex-linux-x64/" + program,
		},
		{"inside", []string{"@openai/codex/bin/codex.js", "@openai/codex/" + program}, "amd64", "@openai/codex/" + program},
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
			if got := native(link, "linux", tt.arch); got != want {
				t.Errorf("native = %s, want %s", got, want)
			}
		})
	}
	if got := native("/nowhere/codex", "linux", "amd64"); got != "/nowhere/codex" {
		t.Errorf("native of a missing file = %s", got)
	}
}
