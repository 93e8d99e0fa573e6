package settings_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// write makes a file with exactly these permissions, whatever the umask.
func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	testkit.OK(t, errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)))
}

const oneModel = "providers: {claude: {model: opus}}"

func TestRead(t *testing.T) {
	dir := t.TempDir()
	if s, found := settings.Read(dir, false); len(s.Providers)+len(found) > 0 {
		t.Errorf("without a file: %+v, %v", s, found)
	}
	path := filepath.Join(dir, "config.yaml")
	write(t, path, oneModel, 0o644)
	s, found := settings.Read(dir, false)
	if len(found) > 0 || len(s.Providers) != 1 || s.Providers[0].Model != "opus" || s.Providers[0].At.File != path {
		t.Errorf("%+v, %v", s, found)
	}
	elsewhere := t.TempDir()
	testkit.OK(t, os.Symlink(path, filepath.Join(elsewhere, "config.yaml")))
	if s, found := settings.Read(elsewhere, false); len(found) > 0 || len(s.Providers) != 1 {
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
		{"a file that all users can write", func(t *testing.T, _, file string) { write(t, file, oneModel, 0o666) }, "writable by all users (chmod o-w makes it safe)"},
		{"a directory that all users can write", func(t *testing.T, dir, file string) {
			write(t, file, oneModel, 0o600)
			testkit.OK(t, os.Chmod(dir, 0o777))
		}, "writable by all users"},
		{"a link into a directory that all users can write", func(t *testing.T, _, file string) {
			open := t.TempDir()
			write(t, filepath.Join(open, "c"), oneModel, 0o600)
			testkit.OK(t, errors.Join(os.Chmod(open, 0o777), os.Symlink(filepath.Join(open, "c"), file)))
		}, "writable by all users"},
		{"a directory", func(t *testing.T, _, file string) {
			testkit.OK(t, os.Mkdir(file, 0o700))
		}, "it is not a regular file"},
		{"a pipe", func(t *testing.T, _, file string) {
			testkit.OK(t, syscall.Mkfifo(file, 0o600))
		}, "it is not a regular file"},
		{"a link without a target", func(t *testing.T, dir, file string) {
			testkit.OK(t, os.Symlink(filepath.Join(dir, "gone"), file))
		}, "the file cannot be read: no such file or directory (correct the link or remove it)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "config.yaml")
			tt.prepare(t, dir, file)
			s, found := settings.Read(dir, false)
			if !found.HasErrors() || !strings.HasPrefix(found.Error(), file+":1:1: error[AP-YAML-008]: ") || !strings.Contains(found.Error(), tt.want) {
				t.Errorf("found %v, want %s", found, tt.want)
			}
			if len(s.Providers) > 0 {
				t.Errorf("settings %+v", s)
			}
		})
	}
}

func trusting(string) (bool, error)    { return true, nil }
func distrusting(string) (bool, error) { return false, nil }

// projectWith is a project whose .claude/config.yaml holds the text.
func projectWith(t *testing.T, text string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, ".claude", "config.yaml")
	testkit.OK(t, os.Mkdir(filepath.Dir(file), 0o755))
	write(t, file, text, 0o644)
	return dir, file
}

const oneConfig = "background: off\nproviders:\n  claude:\n    model: opus\n    config: {command: ./evil}\n  codex: {config: {a: 1}}\n" +
	"notify: [{action: bell}, {action: script}]\n"

// A project's settings count but for what may name programs; that needs the user's trust, and a
// file that no other user can write.
func TestReadProject(t *testing.T) {
	for _, tt := range []struct {
		name    string
		trusted func(string) (bool, error)
		prepare func(dir, file string) error
		config  bool
		reason  string
	}{
		{"trusted", trusting, nil, true, ""},
		{"not trusted", distrusting, nil, false, "the project is not trusted (set it in config.yaml of your own configuration directory, or run `⟨program⟩ trust DIR` if you trust the project)"},
		{"unknown", func(string) (bool, error) { return true, errors.New("damaged") }, nil, false, "the project is not trusted (set it in config.yaml"},
		{"trusted, and all users can write the file", trusting, func(_, file string) error { return os.Chmod(file, 0o666) }, false, "config.yaml is writable by all users (chmod o-w makes it safe) (a trusted"},
		{"trusted, and all users can write the directory", trusting, func(_, file string) error { return os.Chmod(filepath.Dir(file), 0o777) }, false, ".claude is writable by all users"},
		{"a link within the project", trusting, func(dir, file string) error {
			return errors.Join(os.Rename(file, filepath.Join(dir, "c.yaml")), os.Symlink("../c.yaml", file))
		}, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, file := projectWith(t, oneConfig)
			if tt.prepare != nil {
				testkit.OK(t, tt.prepare(dir, file))
			}
			var asked string
			s, found := settings.ReadProject(dir, func(dir string) (bool, error) { asked = dir; return tt.trusted(dir) })
			if found.HasErrors() || asked != dir || s.Background != settings.BackgroundOff || len(s.Providers) != 2 || s.Providers[0].Model != "opus" {
				t.Fatalf("asked for %q, settings %+v, found %v", asked, s, found)
			}
			for _, p := range s.Providers {
				if got := p.Config != nil; got != tt.config || got != (p.ConfigAt.File != "") {
					t.Errorf("provider %+v", p)
				}
			}
			if kept := len(s.Notify) == 2; kept != tt.config || !kept && s.Notify != nil {
				t.Errorf("notify %+v", s.Notify)
			}
			if tt.config {
				if len(found) > 0 {
					t.Errorf("found %v", found)
				}
				return
			}
			lines := strings.Split(found.Error(), "\n")
			want := ".claude/config.yaml:5:5: warning[AP-YAML-309]: providers.claude.config is left out: it may name programs to be run, and " + strings.ReplaceAll(tt.reason, "DIR", dir)
			if len(lines) != 3 || !strings.HasPrefix(lines[0], want) || !strings.Contains(lines[1], ":6:11: warning[AP-YAML-309]: providers.codex.config ") ||
				!strings.Contains(lines[2], ":7:10: warning[AP-YAML-309]: notify is left out: it may name programs to be run, and ") {
				t.Errorf("found %s\nwant %s", found.Error(), want)
			}
		})
	}
}

// An unusable file in the project is reported and not used; a missing one has no settings.
func TestReadProjectRefuses(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "c.yaml")
	write(t, outside, oneModel, 0o644)
	for _, tt := range []struct {
		name    string
		prepare func(file string) error
		want    string
	}{
		{"no file", os.Remove, ""},
		{"a directory", func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) }, "it is not a regular file"},
		{"a pipe", func(file string) error { return errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)) }, "it is not a regular file"},
		{"a link out of the project", func(file string) error { return errors.Join(os.Remove(file), os.Symlink(outside, file)) }, "the file cannot be read: path escapes from parent"},
		{"a link without a target", func(file string) error { return errors.Join(os.Remove(file), os.Symlink("gone", file)) }, "the target of the link does not exist"},
		{"no directory", func(file string) error {
			dir := filepath.Dir(file)
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600))
		}, "the file cannot be read: not a directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, file := projectWith(t, oneModel)
			testkit.OK(t, tt.prepare(file))
			s, found := settings.ReadProject(dir, trusting)
			if len(s.Providers) > 0 {
				t.Errorf("settings %+v", s)
			}
			want := ".claude/config.yaml:1:1: error[AP-YAML-008]: " + tt.want
			if tt.want == "" && len(found) > 0 || tt.want != "" && (!found.HasErrors() || !strings.HasPrefix(found.Error(), want)) {
				t.Errorf("found %v, want %s", found, want)
			}
		})
	}
	if _, found := settings.ReadProject(filepath.Join(t.TempDir(), "gone"), trusting); !found.HasErrors() {
		t.Errorf("no project: %v", found)
	}
}
