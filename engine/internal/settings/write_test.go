package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

func TestParseKey(t *testing.T) {
	for text, want := range map[string]string{
		"background": "text", "commands.test.unit": "text", "defaults.provider": "text", "defaults.delay": "value", "notify": "value",
		"providers.claude.model": "text", "providers.claude.config": "value", "providers.claude.config.max_turns": "value",
		"providers.claude.sandbox.mode": "value", "sandbox": "value", "sandbox.network": "value", "x-mine.a": "value",
		"default.delay": `did you mean "defaults.delay"?`, "": "there is no setting", "commands": "there is no setting", "a..b": "there is no setting",
		"providers.claude": "there is no setting", "notify.1.action": "notify is a list", "providers.claude.models": "there is no setting",
	} {
		key, err := settings.ParseKey(text)
		got := "value"
		switch {
		case err != nil:
			got = err.Error()
		case key.Text:
			got = "text"
		}
		if !strings.Contains(got, want) || err == nil && key.String() != text {
			t.Errorf("%q is %s (%s), want %s", text, got, key, want)
		}
	}
	if key, _ := settings.ParseKey("commands.test.unit"); len(key.Path) != 2 {
		t.Errorf("a command with a dot is at %q", key.Path)
	}
}

func set(t *testing.T, dir, key, value string) (string, error) {
	t.Helper()
	k := testkit.Must(settings.ParseKey(key))
	found, err := settings.Set(dir, false, k, value)
	if err != nil {
		return "", err
	}
	return found.Error(), nil
}

// A file keeps its mode, whether it is changed or not, and no other file is left in its directory.
func TestSet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	file := filepath.Join(dir, "config.yaml")
	for _, tt := range []struct{ value, faults string }{{"2", ""}, {"-1", file + `:2:10: error[AP-YAML-103]: delay must be at least 0 seconds, not -1`}, {"3", ""}} {
		if found, err := set(t, dir, "defaults.delay", tt.value); found != tt.faults || err != nil {
			t.Fatalf("%s: %s, %v", tt.value, found, err)
		}
		testkit.OK(t, os.Chmod(file, 0o640))
	}
	left := testkit.Must(os.ReadDir(dir))
	if info := testkit.Must(os.Stat(file)); len(left) != 1 || info.Mode().Perm() != 0o640 {
		t.Errorf("left are %v, mode %v", left, info.Mode())
	}
	testkit.Equal(t, "defaults:\n  delay: 3\n", string(testkit.Must(os.ReadFile(file))))
}

// A link in the user's directory is followed to the file that is changed; a link in the project is an error.
func TestSetThroughLinks(t *testing.T) {
	dir, dots := t.TempDir(), t.TempDir()
	testkit.OK(t, os.Chmod(dots, 0o700))
	target := filepath.Join(dots, "my.yaml")
	testkit.OK(t, os.WriteFile(target, []byte("background: tmux\n"), 0o600))
	testkit.OK(t, os.Symlink(target, filepath.Join(dir, "config.yaml")))
	if found, err := set(t, dir, "background", "off"); found != "" || err != nil {
		t.Fatal(found, err)
	}
	if b, _ := os.ReadFile(target); string(b) != "background: \"off\"\n" {
		t.Errorf("the target has %s", b)
	}
	if _, err := settings.Set(dir, true, settings.Key{Path: []string{"background"}, Text: true}, "off"); err == nil {
		t.Error("a file that is not the user's is changed")
	}

	project := t.TempDir()
	testkit.OK(t, os.Mkdir(filepath.Join(project, ".claude"), 0o755))
	testkit.OK(t, os.Symlink(target, filepath.Join(project, settings.ProjectFile)))
	testkit.Fails(t, testkit.Error(settings.SetProject(project, settings.Key{Path: []string{"mode"}}, "open")), "is a link")
}
