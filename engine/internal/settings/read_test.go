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
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
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

// A file that others could have written, or that cannot be read, is not used, and its fault gives the reason. A
// project's file that others can write is used in part; a missing file has no settings.
func TestReadRefuses(t *testing.T) {
	open := t.TempDir()
	outside := filepath.Join(open, "c.yaml")
	write(t, outside, oneModel, 0o644)
	testkit.OK(t, os.Chmod(open, 0o777))
	for _, tt := range []struct {
		name          string
		prepare       func(file string) error
		user, project string // the faults of the user's and of the project's file, "" for none
	}{
		{"no file", os.Remove, "", ""},
		{"a file that all users can write", func(file string) error { return os.Chmod(file, 0o666) }, "config.yaml is writable by all users (chmod o-w makes it safe)", ""},
		{"a directory that all users can write", func(file string) error { return os.Chmod(filepath.Dir(file), 0o777) }, "is writable by all users", ""},
		{"a link to elsewhere, which all users can write", replacing(func(file string) error { return os.Symlink(outside, file) }), "is writable by all users", "path escapes from parent"},
		{"a directory", replacing(func(file string) error { return os.Mkdir(file, 0o700) }), "it is not a regular file", "it is not a regular file"},
		{"a pipe", replacing(func(file string) error { return syscall.Mkfifo(file, 0o600) }), "it is not a regular file", "it is not a regular file"},
		{
			"a link without a target", replacing(func(file string) error { return os.Symlink("gone", file) }),
			"the file cannot be read: no such file or directory (correct the link or remove it)", "the target of the link does not exist",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			project, file := projectWith(t, oneModel)
			testkit.OK(t, tt.prepare(file))
			dir := filepath.Dir(file)
			s, found := settings.Read(dir, false)
			refused(t, s, found, file, tt.user)
			s, found = settings.ReadProject(project, trusting)
			refused(t, s, found, settings.ProjectFile, tt.project)
		})
	}
	project, file := projectWith(t, oneModel)
	testkit.OK(t, errors.Join(os.RemoveAll(filepath.Dir(file)), os.WriteFile(filepath.Dir(file), nil, 0o600)))
	s, found := settings.ReadProject(project, trusting)
	refused(t, s, found, settings.ProjectFile, "the file cannot be read: not a directory")
	s, found = settings.ReadProject(filepath.Join(project, "gone"), trusting)
	refused(t, s, found, settings.ProjectFile, "the file cannot be read: no such file or directory")
}

// replacing returns a function that puts something in the place of a file.
func replacing(put func(file string) error) func(string) error {
	return func(file string) error { return errors.Join(os.Remove(file), put(file)) }
}

// refused checks that a file has no settings and a fault with the text; "" for no fault.
func refused(t *testing.T, s settings.Settings, found yamldoc.Diagnostics, file, text string) {
	t.Helper()
	if text == "" && len(found) > 0 || text != "" && (len(s.Providers) > 0 || !strings.HasPrefix(found.Error(), file+":1:1: error[AP-YAML-008]: ") || !strings.Contains(found.Error(), text)) {
		t.Errorf("settings %+v, found %v, want %s", s, found, text)
	}
}

func trusting(string) (bool, error)    { return true, nil }
func distrusting(string) (bool, error) { return false, nil }

// projectWith returns a project and its .claude/config.yaml, which has the text.
func projectWith(t *testing.T, text string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, ".claude", "config.yaml")
	testkit.OK(t, os.Mkdir(filepath.Dir(file), 0o755))
	write(t, file, text, 0o644)
	return dir, file
}

const oneConfig = "background: off\nproviders:\n  claude:\n    model: opus\n    config: {command: ./evil}\n  codex: {config: {a: 1}, env: [A_TOKEN]}\n" +
	"notify: [{action: bell}, {action: script}]\n"

// A project's settings have an effect. Settings that may name programs need the user's trust, and a file that no other
// user can write.
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
				if got := p.Config != nil; got != tt.config || got != (p.ConfigAt.File != "") || !got && p.Env != nil {
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
			if len(lines) != 4 || !strings.HasPrefix(lines[0], want) || !strings.Contains(lines[1], ":6:3: warning[AP-YAML-309]: providers.codex.env is left out: it passes on secrets") ||
				!strings.Contains(lines[2], ":6:11: warning[AP-YAML-309]: providers.codex.config ") ||
				!strings.Contains(lines[3], ":7:10: warning[AP-YAML-309]: notify is left out: it may name programs to be run, and ") {
				t.Errorf("found %s\nwant %s", found.Error(), want)
			}
		})
	}
}
