package scaffold

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sdkDir = "../../../../plugin-sdk"

func write(t *testing.T, m Module) (dir string, files []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "new")
	files, err := Write(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return dir, files
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -trimpath "+os.Getenv("GOFLAGS"), "CGO_ENABLED=0") // as make test compiles, so that the cache serves it
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, text)
	}
	return string(text)
}

// The written module compiles unchanged, is formatted, and go vet reports nothing.
func TestModulesCompile(t *testing.T) {
	for kind := range nouns {
		t.Run(string(kind), func(t *testing.T) {
			dir, files := write(t, Module{Kind: kind, Name: "own_plugin-2", SDKDir: sdkDir})
			source := string(kind)
			want := []string{
				"binary_test.go", "verify.json",
				".github/workflows/ci.yml", ".gitignore", "Makefile", "README.md", "ci.sh", "go.mod", "main.go", source + ".go", source + "_test.go",
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if got := run(t, dir, "gofmt", "-l", "."); got != "" {
				t.Errorf("not formatted: %s", got)
			}
			run(t, dir, "go", "vet", "./...")
			for _, file := range files {
				text, err := os.ReadFile(filepath.Join(dir, file))
				if err != nil || strings.Contains(string(text), "[[") || strings.Contains(string(text), "<no value>") || !strings.HasSuffix(string(text), "\n") {
					t.Errorf("%s is not filled in (%v):\n%s", file, err, text)
				}
			}
		})
	}
}

func TestSDK(t *testing.T) {
	sdk, err := filepath.Abs(sdkDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		module Module
		want   string // go.mod behind its first two parts
		readme string
	}{
		{"a released version", Module{SDKVersion: "v1.2.3"}, "require " + SDKModule + " v1.2.3\n", ""},
		{"a checkout", Module{SDKVersion: "v1.2.3", SDKDir: sdk}, "require " + SDKModule + " v0.0.0\n\nreplace " + SDKModule + " => " + sdk + "\n", "-dropreplace"},
		{"neither", Module{}, "", "-replace=" + SDKModule + "=<checkout>/plugin-sdk"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.module.Kind, tt.module.Name = Hook, "x"
			dir, _ := write(t, tt.module)
			gomod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
			if err != nil {
				t.Fatal(err)
			}
			want := "module example.com/agent-plugin-x\n\ngo 1.26.0\n"
			if tt.want != "" {
				want += "\n" + tt.want
			}
			if diff := cmp.Diff(want, string(gomod)); diff != "" {
				t.Errorf("go.mod (-want +got):\n%s", diff)
			}
			readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
			if err != nil || !strings.Contains(string(readme), tt.readme) || tt.readme == "" && strings.Contains(string(readme), "go mod edit") {
				t.Errorf("README (%v) does not fit %q:\n%s", err, tt.readme, readme)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(full, "notes")
	for _, tt := range []struct {
		name   string
		dir    string // default: a directory that does not exist
		module Module
		want   error
	}{
		{"capital letters", "", Module{Name: "Foo"}, ErrName},
		{"a path", "", Module{Name: "../foo"}, ErrName},
		{"nothing", "", Module{}, ErrName},
		{"a long name", "", Module{Name: strings.Repeat("x", 65)}, ErrName},
		{"a module with a space", "", Module{Name: "x", Path: "a b"}, ErrPath},
		{"a module above", "", Module{Name: "x", Path: "a/../b"}, ErrPath},
		{"a directory with something in it", full, Module{Name: "x"}, ErrTaken},
		{"a file", file, Module{Name: "x"}, ErrTaken},
		{"an SDK that is none", "", Module{Name: "x", SDKDir: full}, ErrSDK},
		{"an SDK that is another module", "", Module{Name: "x", SDKDir: "../../../../kernel"}, ErrSDK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.dir == "" {
				tt.dir = filepath.Join(t.TempDir(), "new")
			}
			tt.module.Kind = Provider
			if _, err := Write(tt.dir, tt.module); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if entries, _ := os.ReadDir(tt.dir); tt.dir != full && len(entries) > 0 {
				t.Errorf("something was written: %v", entries)
			}
		})
	}
	dir := t.TempDir()
	if _, err := Write(dir, Module{Kind: Hook, Name: "x"}); err != nil {
		t.Errorf("an empty directory: %v", err)
	}
}
