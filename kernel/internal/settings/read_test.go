package settings_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/settings"
)

func ours(string) bool { return false }

// write makes a file with exactly these permissions, whatever the umask.
func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

const oneModel = "providers: {claude: {model: opus}}"

func TestRead(t *testing.T) {
	dir := t.TempDir()
	if s, found := settings.Read(dir, ours); len(s.Providers)+len(found) > 0 {
		t.Errorf("without a file: %+v, %v", s, found)
	}
	path := filepath.Join(dir, "config.yaml")
	write(t, path, oneModel, 0o644)
	s, found := settings.Read(dir, ours)
	if len(found) > 0 || len(s.Providers) != 1 || s.Providers[0].Model != "opus" || s.Providers[0].File != path {
		t.Errorf("%+v, %v", s, found)
	}
	elsewhere := t.TempDir()
	if err := os.Symlink(path, filepath.Join(elsewhere, "config.yaml")); err != nil {
		t.Fatal(err)
	}
	if s, found := settings.Read(elsewhere, ours); len(found) > 0 || len(s.Providers) != 1 {
		t.Errorf("through a link: %+v, %v", s, found)
	}
}

// What others could have written, and what cannot be read, is not used, and says why.
func TestReadRefuses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(t *testing.T, dir, file string)
		want    string
	}{
		{"a file that everybody can write", func(t *testing.T, _, file string) { write(t, file, oneModel, 0o666) }, "writable by everybody (chmod o-w makes it safe)"},
		{"a directory that everybody can write", func(t *testing.T, dir, file string) {
			write(t, file, oneModel, 0o600)
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}, "writable by everybody"},
		{"a link into a directory that everybody can write", func(t *testing.T, _, file string) {
			open := t.TempDir()
			write(t, filepath.Join(open, "c"), oneModel, 0o600)
			if err := errors.Join(os.Chmod(open, 0o777), os.Symlink(filepath.Join(open, "c"), file)); err != nil {
				t.Fatal(err)
			}
		}, "writable by everybody"},
		{"a directory", func(t *testing.T, _, file string) {
			if err := os.Mkdir(file, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "it is no regular file"},
		{"a pipe", func(t *testing.T, _, file string) {
			if err := syscall.Mkfifo(file, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "it is no regular file"},
		{"a link that leads nowhere", func(t *testing.T, dir, file string) {
			if err := os.Symlink(filepath.Join(dir, "gone"), file); err != nil {
				t.Fatal(err)
			}
		}, "the file cannot be read: no such file or directory (correct the link or remove it)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "config.yaml")
			tt.prepare(t, dir, file)
			s, found := settings.Read(dir, ours)
			if !found.HasErrors() || !strings.HasPrefix(found.Error(), file+":1:1: error[AP-YAML-008]: ") || !strings.Contains(found.Error(), tt.want) {
				t.Errorf("found %v, want %s", found, tt.want)
			}
			if len(s.Providers) > 0 {
				t.Errorf("settings %+v", s)
			}
		})
	}
}

// DESIGN 6: what lies in the project is not the user's word.
func TestReadPassesOverTheProjects(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.yaml"), oneModel, 0o600)
	var asked string
	s, found := settings.Read(dir, func(dir string) bool { asked = dir; return true })
	if asked != dir || len(s.Providers) > 0 || found.HasErrors() {
		t.Errorf("asked for %q, settings %+v, found %v", asked, s, found)
	}
	want := filepath.Join(dir, "config.yaml") + ":1:1: warning[AP-YAML-303]: the file lies inside the project, which must not bring its own settings " +
		"(move it to ~/.config/agent-pipelines, or run `agent-pipelines trust " + dir + "` if you trust it)"
	if diff := cmp.Diff(want, found.Error()); diff != "" {
		t.Error(diff)
	}
}
