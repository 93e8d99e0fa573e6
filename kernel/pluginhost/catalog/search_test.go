package catalog

import (
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// tree makes files with their modes, and a directory for the mode of a directory.
func tree(t *testing.T, root string, files map[string]os.FileMode) {
	t.Helper()
	for name, mode := range files {
		path := filepath.Join(root, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if mode.IsDir() {
			check(t, os.MkdirAll(path, 0o755))
		} else if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		check(t, os.Chmod(path, mode.Perm()))
	}
}

// tempRoot returns a temporary directory without symbolic links in its path.
func tempRoot(t *testing.T) string {
	t.Helper()
	return must(filepath.EvalSymlinks(t.TempDir()))
}

func reasons(f SearchResult, base string) map[string]string {
	m := map[string]string{}
	for _, i := range f.Ignored {
		rel, err := filepath.Rel(base, i.Path)
		if err != nil {
			rel = i.Path
		}
		m[rel], _, _ = strings.Cut(strings.ReplaceAll(i.Reason, base+"/", ""), ",")
	}
	return m
}

func TestFindListsReasons(t *testing.T) {
	dir := tempRoot(t)
	tree(t, dir, map[string]os.FileMode{
		"one/agent-plugin-good":      0o755,
		"one/agent-plugin-plain":     0o644,
		"one/agent-plugin-world":     0o757,
		"one/agent-plugin-folder":    os.ModeDir | 0o755,
		"one/agent-plugin-BAD":       0o755,
		"one/agent-plugin-":          0o755,
		"one/claude":                 0o755,
		"two/agent-plugin-good":      0o755,
		"two/agent-plugin-plain":     0o755,
		"open/agent-plugin-far":      0o755,
		"elsewhere/agent-plugin-far": 0o755,
		"file":                       0o644,
	})
	for _, d := range []string{"open", "elsewhere"} {
		check(t, os.Chmod(filepath.Join(dir, d), 0o777))
	}
	links := map[string]string{
		"two/agent-plugin-link":   "one/agent-plugin-good",
		"two/agent-plugin-loose":  "elsewhere/agent-plugin-far",
		"two/agent-plugin-broken": "absent",
	}
	for link, target := range links {
		check(t, os.Symlink(filepath.Join(dir, target), filepath.Join(dir, link)))
	}
	var places []SearchDir
	for _, d := range []string{"one", "two", "open", "missing", "file"} {
		places = append(places, SearchDir{Dir: filepath.Join(dir, d), Source: FromFlag})
	}
	f := Search{Dirs: places}.Find()

	var trusted []string
	for _, p := range f.Plugins {
		rel, _ := filepath.Rel(dir, p.Path)
		trusted = append(trusted, p.Name+" "+rel)
	}
	want := []string{"good one/agent-plugin-good", "link two/agent-plugin-link", "plain two/agent-plugin-plain"}
	compare(t, want, trusted)
	badName := "not named agent-plugin-<name> (lower case letters"
	wantIgnored := map[string]string{
		"one/agent-plugin-plain":  "not executable",
		"one/agent-plugin-world":  "writable by all users (chmod o-w makes it safe)",
		"one/agent-plugin-folder": "a directory",
		"one/agent-plugin-BAD":    badName,
		"one/agent-plugin-":       badName,
		"one/claude":              badName,
		"two/agent-plugin-good":   "shadowed by one/agent-plugin-good",
		"two/agent-plugin-loose":  "a link into a directory that is writable by all users (chmod o-w makes it safe)",
		"two/agent-plugin-broken": "unreadable: lstat absent: no such file or directory",
		"open":                    "a directory that is writable by all users (chmod o-w makes it safe)",
		"missing":                 "a directory that does not exist",
		"file":                    "not a directory",
	}
	compare(t, wantIgnored, reasons(f, dir))
}

func TestFindRefusesOtherUsersFiles(t *testing.T) {
	dir := tempRoot(t)
	tree(t, dir, map[string]os.FileMode{"agent-plugin-x": 0o755})
	err := os.Chown(filepath.Join(dir, "agent-plugin-x"), 54321, -1)
	f := Search{Dirs: []SearchDir{{Dir: dir, Source: FromFlag}}}.Find()
	want := map[string]string{"agent-plugin-x": "owned by user 54321"}
	if err != nil { // only root can give files away; otherwise the file stays ours and is found
		want = map[string]string{}
	}
	compare(t, want, reasons(f, dir))
}

func TestFindInTheProject(t *testing.T) {
	base := tempRoot(t)
	tree(t, base, map[string]os.FileMode{
		"project/plugins/agent-plugin-x":    0o755,
		"project/.config/a/agent-plugin-x":  0o755,
		"project-more/agent-plugin-x":       0o755,
		"project/bin/plugins/agent-plugin-": 0o755,
	})
	project := filepath.Join(base, "project")
	inside := filepath.Join(project, "plugins")
	trust := func(want string) func(string) (bool, error) {
		return func(dir string) (bool, error) { return dir == want, nil }
	}
	link := filepath.Join(base, "link")
	check(t, os.Symlink(inside, link))
	tests := []struct {
		name    string
		search  Search
		place   SearchDir
		trusted bool
	}{
		{"by flag", Search{Project: project}, SearchDir{inside, FromFlag}, true},
		{"beside the program", Search{Project: project}, SearchDir{inside, FromExecutable}, true},
		{"by environment", Search{Project: project}, SearchDir{inside, FromEnvironment}, false},
		{"by environment through a link", Search{Project: project}, SearchDir{link, FromEnvironment}, false},
		{"by environment, trusted", Search{Project: project, Trusted: trust(inside)}, SearchDir{inside, FromEnvironment}, true},
		{"by environment, another trusted", Search{Project: project, Trusted: trust(base)}, SearchDir{inside, FromEnvironment}, false},
		{"by configuration", Search{Project: project}, SearchDir{inside, FromConfig}, false},
		{"in the home that is the project", Search{Project: project, Home: project}, SearchDir{filepath.Join(project, ".config", "a"), FromConfig}, true},
		{"in a directory with a longer name", Search{Project: project}, SearchDir{project + "-more", FromEnvironment}, true},
		{"without a project", Search{}, SearchDir{inside, FromEnvironment}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.search.Dirs = []SearchDir{tt.place}
			f := tt.search.Find()
			compare(t, tt.trusted, len(f.Plugins) == 1)
			if !tt.trusted && !strings.Contains(f.Ignored[0].Reason, "inside the project directory "+project) {
				t.Errorf("reason %q does not name the project", f.Ignored[0].Reason)
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	base := tempRoot(t)
	tree(t, base, map[string]os.FileMode{"real/bin/agent-pipelines": 0o755, "bin/": os.ModeDir | 0o755})
	exe := filepath.Join(base, "bin", "agent-pipelines")
	check(t, os.Symlink(filepath.Join(base, "real", "bin", "agent-pipelines"), exe))
	got := SearchDirs(SearchOrigin{
		Flags: []string{"/flag/one", "/flag/two", ""}, List: "/env/one:/flag/one:/env/two:",
		ConfigDir: "/config", Executable: exe,
	})
	want := []SearchDir{
		{"/flag/one", FromFlag},
		{"/flag/two", FromFlag},
		{"/env/one", FromEnvironment},
		{"/env/two", FromEnvironment},
		{"/config/plugins", FromConfig},
		{filepath.Join(base, "real", "bin", "plugins"), FromExecutable},
		{filepath.Join(base, "real", "lib", "agent-pipelines", "plugins"), FromExecutable},
	}
	compare(t, want, got)
}

func TestUserDirs(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	for variable, tt := range map[string]struct {
		dir  func() (string, error)
		home string
	}{
		"XDG_CONFIG_HOME": {ConfigDir, "/home/u/.config/agent-pipelines"},
		"XDG_STATE_HOME":  {StateDir, "/home/u/.local/state/agent-pipelines"},
	} {
		for xdg, want := range map[string]string{"": tt.home, "/xdg": "/xdg/agent-pipelines", "relative": tt.home} {
			t.Setenv(variable, xdg)
			got, err := tt.dir()
			require(t, err == nil && got == want, variable, xdg, got, err)
		}
	}
}

func TestConfigDirWithoutHome(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	got, err := ConfigDir()
	u, unknown := user.Current()
	if unknown != nil || !filepath.IsAbs(u.HomeDir) {
		require(t, err != nil && failure.From(err).Hint != "", got, err)
		return
	}
	want := filepath.Join(u.HomeDir, ".config", "agent-pipelines")
	require(t, err == nil && got == want, got, err)
}

// A project cannot trust itself. Configuration inside the project counts as the user's only if the
// home directory is inside, too.
func TestProjectCannotTrustItself(t *testing.T) {
	for _, tt := range []struct {
		name, config, home string
		owned              bool
	}{
		{"the user's", "home/.config/agent-pipelines", "home", false},
		{"in the project", "project/.config/agent-pipelines", "home", true},
		{"in the project, without a home", "project/.config/agent-pipelines", "", true},
		{"in the project, by a link", "link/config", "home", true},
		{"beside the project", "project-more", "home", false},
		{"in a home that the project holds", "project/home/.config/agent-pipelines", "project/home", false},
		{"in a home that is the project", "project/.config/agent-pipelines", "project", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := tempRoot(t)
			tree(t, base, map[string]os.FileMode{
				"project/.claude/": os.ModeDir | 0o755, "project/home/": os.ModeDir | 0o755, "home/": os.ModeDir | 0o755,
			})
			project, home := filepath.Join(base, "project"), ""
			if tt.home != "" {
				home = filepath.Join(base, tt.home)
			}
			check(t, os.Symlink(project, filepath.Join(base, "link")))
			store := Store{Dir: filepath.Join(base, tt.config)}
			check := func(want bool) {
				t.Helper()
				compare(t, tt.owned, ConfigInProject(store.Dir, project, home))
				if got, err := TrustFunc(store, project, home)(project); got != want || err != nil {
					t.Errorf("trusted is %v, %v, want %v", got, err, want)
				}
			}
			check(false)
			if err := store.Trust(project); err != nil { // as a repository that brings the file would
				t.Fatal(err)
			}
			check(!tt.owned)
		})
	}
}

func TestParseRunning(t *testing.T) {
	got := must(ParseRunning(`{"b":{"protocol":"grpc","version":1,"pid":7,"addr":"/tmp/b"},"a":{"protocol":"grpc","version":1,"pid":6,"addr":"/tmp/a"}}`))
	want := []Plugin{
		{Name: "a", Path: "/tmp/a", Source: FromReattach, Running: &RunningProcess{Protocol: "grpc", Version: 1, PID: 6, Address: "/tmp/a"}},
		{Name: "b", Path: "/tmp/b", Source: FromReattach, Running: &RunningProcess{Protocol: "grpc", Version: 1, PID: 7, Address: "/tmp/b"}},
	}
	compare(t, want, got)
	got, err := ParseRunning("")
	require(t, err == nil && got == nil, got, err)
}

func TestParseRunningRefuses(t *testing.T) {
	for _, tt := range []struct{ text, message string }{
		{"x", "invalid character"},
		{"[]", "cannot unmarshal"},
		{`{"a":{"protocol":"grpc","version":1,"pid":6,"addr":"/a","tls":true}}`, `unknown field "tls"`},
		{`{"a":{"protocol":"grpc","version":1,"pid":6,"addr":"/a"}} {}`, "after the object"},
		{`{"A b":{"protocol":"grpc","version":1,"pid":6,"addr":"/a"}}`, `"A b" is not the name of a plugin`},
		{`{"a":{"protocol":"netrpc","version":1,"pid":6,"addr":"/a"}}`, `the protocol is "netrpc"`},
		{`{"a":{"protocol":"grpc","version":99,"pid":6,"addr":"/a"}}`, "version 99"},
		{`{"a":{"protocol":"grpc","version":1,"pid":6,"addr":"127.0.0.1:80"}}`, "not an absolute path of a unix socket"},
		{`{"a":{"protocol":"grpc","version":1,"addr":"/a"}}`, "the pid is 0"},
	} {
		_, err := ParseRunning(tt.text)
		if failure.KindOf(err) != failure.ConfigInvalid || !strings.Contains(err.Error(), tt.message) || !strings.Contains(failure.From(err).Hint, "agent-plugin-x debug") {
			t.Errorf("%s: got %v", tt.text, err)
		}
	}
}

// FuzzParseRunning checks that every result can be dialled, for any value of the variable.
func FuzzParseRunning(f *testing.F) {
	f.Add(`{"a":{"protocol":"grpc","version":1,"pid":6,"addr":"/tmp/a"}}`)
	f.Add(`{"a":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		found, err := ParseRunning(text)
		if err != nil && failure.KindOf(err) != failure.ConfigInvalid {
			t.Errorf("%q: error %v", text, err)
		}
		for _, c := range found {
			if c.Name == "" || c.Running == nil || !strings.HasPrefix(c.Path, "/") {
				t.Errorf("%q: got %+v", text, c)
			}
		}
	})
}
