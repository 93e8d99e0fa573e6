package scaffold

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlaceFiles(t *testing.T) {
	files := map[string][]byte{"a.txt": []byte("a"), "sub/b.sh": []byte("b"), Shared: []byte("runs")}
	for _, tt := range []struct {
		name      string
		before    map[string]string
		want      Result
		conflicts []string
	}{
		{"an empty directory", nil, Result{Written: []string{Shared, "a.txt", "sub/b.sh"}}, nil},
		{"the same contents", map[string]string{"a.txt": "a"}, Result{Written: []string{Shared, "sub/b.sh"}, Existing: []string{"a.txt"}}, nil},
		{"a file that belongs to others as well", map[string]string{Shared: "other"}, Result{Written: []string{"a.txt", "sub/b.sh"}, Existing: []string{Shared}}, nil},
		{"other contents", map[string]string{"sub/b.sh": "c"}, Result{}, []string{"sub/b.sh"}},
		{"a directory in its place", map[string]string{"a.txt/x": ""}, Result{}, []string{"a.txt"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tt.before {
				file := filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Place(dir, files)
			var exists *ExistsError
			if errors.As(err, &exists) != (tt.conflicts != nil) || tt.conflicts == nil && err != nil {
				t.Fatalf("the error is %v", err)
			}
			if exists != nil {
				if diff := cmp.Diff(tt.conflicts, exists.Files); diff != "" {
					t.Error(diff)
				}
				if _, err := os.Stat(filepath.Join(dir, Shared)); err == nil {
					t.Error("something was written")
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A failed Place leaves no file.
func TestPlaceFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "z"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Place(dir, map[string][]byte{"a.txt": []byte("a"), "z/b": []byte("b")}); err == nil {
		t.Fatal("a file was written below a file")
	}
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); err == nil {
		t.Error("a file was left")
	}
}

func TestProject(t *testing.T) {
	if _, err := (Project{Name: "../x"}).Files(); !errors.Is(err, ErrName) {
		t.Errorf("the error is %v", err)
	}
	files, err := Project{Name: "own", Provider: "codex"}.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Shared, ".claude/pipelines/own.yaml", ".claude/stages/own-work/stage.yaml", ".claude/stages/own-work/prompt.md"} {
		if len(files[name]) == 0 {
			t.Errorf("there is no %s", name)
		}
	}
}
