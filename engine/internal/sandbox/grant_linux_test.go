package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestOutermost(t *testing.T) {
	got := outermost([]string{"/a", "/a-b", "/a/b", "/c/d", "/c/d/e", "/c/dd"})
	testkit.Equal(t, []string{"/a", "/a-b", "/c/d", "/c/dd"}, got)
	if got := outermost([]string{"/", "/a"}); len(got) != 1 {
		t.Errorf("below the root: %v", got)
	}
}

// tree returns a directory with a project, a home directory, an interpreter and plugins.
func tree(t *testing.T) string {
	t.Helper()
	root := testkit.Must(filepath.EvalSymlinks(t.TempDir()))
	for _, dir := range []string{"project/src", "home/.config/git", "venv/bin", "venv/lib", "plugins"} {
		testkit.OK(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for name, text := range map[string]string{
		"home/.gitconfig": "", "home/.netrc": "", "venv/bin/python3": "#!", "venv/pyvenv.cfg": "",
		"plugins/agent-plugin-x": "#!/usr/bin/env -S FOO=bar python3 -u\n", "plugins/agent-plugin-y": "#!" + root + "/venv/bin/python3\n", "plugins/agent-plugin-z": "ELF",
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o755))
	}
	testkit.OK(t, os.Symlink(filepath.Join(root, "project"), filepath.Join(root, "link")))
	return root
}

func TestGrant(t *testing.T) {
	root := tree(t)
	at := func(names ...string) []string {
		var paths []string
		for _, n := range names {
			paths = append(paths, filepath.Join(root, n))
		}
		return paths
	}
	binary := testkit.Must(os.Open(filepath.Join(root, "plugins/agent-plugin-z")))
	defer binary.Close()
	script := sandboxpolicy.Program{Path: filepath.Join(root, "plugins/agent-plugin-x"), Env: []string{"PATH=relative:/none:" + filepath.Join(root, "venv/bin")}}
	scriptNeeds := at("plugins", "venv/bin", "venv/lib", "venv/pyvenv.cfg")
	for name, tt := range map[string]struct {
		policy      sandboxpolicy.Policy
		program     sandboxpolicy.Program
		read, write []string
	}{
		"nothing":                       {sandboxpolicy.Policy{Mode: sandboxpolicy.Strict}, sandboxpolicy.Program{}, nil, nil},
		"by a link":                     {sandboxpolicy.Policy{Mode: sandboxpolicy.Strict, Write: at("link")}, sandboxpolicy.Program{}, nil, at("link", "project")},
		"the working directory is read": {sandboxpolicy.Policy{Mode: sandboxpolicy.Strict, WorkDir: filepath.Join(root, "project")}, sandboxpolicy.Program{}, at("project"), nil},
		"a writable path is not only read": {
			sandboxpolicy.Policy{Mode: sandboxpolicy.Strict, Write: at("project"), Read: at("project/src", "home/.netrc"), WorkDir: filepath.Join(root, "project")},
			sandboxpolicy.Program{},
			at("home/.netrc"), at("project"),
		},
		"missing paths":               {sandboxpolicy.Policy{Mode: sandboxpolicy.Strict, Read: at("none"), Write: at("none")}, sandboxpolicy.Program{}, nil, nil},
		"git's settings":              {sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Home: filepath.Join(root, "home")}, sandboxpolicy.Program{}, at("home/.config/git", "home/.gitconfig"), nil},
		"not under strict":            {sandboxpolicy.Policy{Mode: sandboxpolicy.Strict, Home: filepath.Join(root, "home")}, sandboxpolicy.Program{}, nil, nil},
		"a script that env starts":    {sandboxpolicy.Policy{Mode: sandboxpolicy.Strict}, script, scriptNeeds, nil},
		"a script of an interpreter":  {sandboxpolicy.Policy{Mode: sandboxpolicy.Strict}, sandboxpolicy.Program{Path: filepath.Join(root, "plugins/agent-plugin-y")}, scriptNeeds, nil},
		"a binary is read alone":      {sandboxpolicy.Policy{Mode: sandboxpolicy.Strict}, sandboxpolicy.Program{Path: binary.Name(), File: binary}, at("plugins/agent-plugin-z"), nil},
		"the process's own directory": {sandboxpolicy.Policy{Mode: sandboxpolicy.Strict}, sandboxpolicy.Program{Temp: filepath.Join(root, "home"), Write: at("venv")}, nil, at("home", "venv")},
	} {
		t.Run(name, func(t *testing.T) {
			g := grant(tt.policy, tt.program)
			ours := slices.DeleteFunc(g.read, func(p string) bool { return !strings.HasPrefix(p, root) })
			slices.Sort(tt.read)
			testkit.Equal(t, tt.read, ours, equateEmpty)
			testkit.Equal(t, tt.write, g.write, equateEmpty)
		})
	}
}

var equateEmpty = cmp.Transformer("nil", func(s []string) string { return strings.Join(s, "\n") })

func TestInterpreter(t *testing.T) {
	root := tree(t)
	bin := filepath.Join(root, "venv/bin")
	for text, want := range map[string]string{
		"#!/bin/sh -e\nx":                  "/bin/sh",
		"#! /bin/sh":                       "/bin/sh",
		"#!/usr/bin/env python3\n":         bin + "/python3",
		"#!/usr/bin/env -S A=1 python3 -u": bin + "/python3",
		"#!/usr/bin/env":                   "",
		"#!/usr/bin/env none":              "",
		"#!":                               "",
		"\x7fELF":                          "",
		"":                                 "",
	} {
		path := filepath.Join(root, "script")
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o700))
		if got := interpreter(path, "relative::/none:"+bin); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	testkit.Equal(t, "", interpreter(filepath.Join(root, "missing"), bin))
}

// No path of Base is a secret, contains a secret or is inside one.
func TestBaseHasNoSecret(t *testing.T) {
	for _, place := range Base {
		for _, p := range place.Paths {
			for _, secret := range []string{"/etc/shadow", "/etc/gshadow", "/etc/ssl/private", "/etc/ssh", "/root", "/home", "/var/lib/secrets", "/run/docker.sock", "/tmp"} {
				if sandboxpolicy.Within(secret, p) || sandboxpolicy.Within(p, secret) {
					t.Errorf("%s (%s) holds %s", p, place.Purpose, secret)
				}
			}
		}
	}
}

// U321: the user's toolchains can be read, but not the home directory, another file in it, or a directory with keys. Caches are the project's own
// and differ for agents and checks; a variable that leads to a granted path stays.
func TestToolchains(t *testing.T) {
	root := tree(t)
	home := filepath.Join(root, "home")
	for _, dir := range []string{".cargo/registry", ".rustup", ".m2/repository", ".gradle/caches", "mod", "bin", ".manager/shims", ".local/shims", "keys/own/bin"} {
		testkit.OK(t, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	env := []string{"PATH=bin:" + home + ":/none:" + filepath.Join(home, ".manager/shims") + ":" + filepath.Join(home, ".local/shims") + ":" + filepath.Join(home, "keys") + ":" + filepath.Join(home, "bin"), "GOMODCACHE=" + filepath.Join(home, "mod"), "XDG_STATE_HOME=" + filepath.Join(home, "keys/own"), "GOCACHE=" + filepath.Join(root, "granted"), "PIP_CACHE_DIR=" + home}
	b := sandboxpolicy.Policy{WorkDir: filepath.Join(root, "project"), Home: home, Write: []string{"", filepath.Join(root, "granted")}, Caches: "provider"}
	read := toolchains(b, env)
	slices.Sort(read)
	var want []string
	for _, dir := range []string{".cargo/registry", ".m2/repository", ".rustup", "bin", "mod"} {
		want = append(want, filepath.Join(home, dir))
	}
	want = slices.Insert(want, 1, filepath.Join(home, ".gradle/caches"))
	want = slices.Insert(want, 3, filepath.Join(home, ".manager"))
	testkit.Equal(t, want, read)

	program := sandboxpolicy.Program{Env: env, Temp: filepath.Join(root, "temp")}
	dirs, variables := makeCaches(b, program)
	caches := dirs[0]
	testkit.Equal(t, map[string]string{
		"XDG_CACHE_HOME": caches, "PIP_CACHE_DIR": caches + "/pip", "npm_config_cache": caches + "/npm", "GRADLE_USER_HOME": caches + "/gradle", "PYTHONPYCACHEPREFIX": caches + "/python",
		"GRADLE_RO_DEP_CACHE": filepath.Join(home, ".gradle/caches"),
	}, variables)
	if info, err := os.Stat(caches); err != nil || info.Mode().Perm() != 0o700 || !sandboxpolicy.Within(caches, filepath.Join(home, ".cache/agent-pipelines/caches")) {
		t.Errorf("the caches are in %s: %v, %v", caches, info, err)
	}
	b.Caches = "hook_action"
	if others, _ := makeCaches(b, program); others[0] == caches {
		t.Errorf("checks use the caches of agents: %s", caches)
	}
	testkit.OK(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	for _, base := range []string{filepath.Join(root, "file"), "relative"} {
		program.Env = []string{"XDG_CACHE_HOME=" + base}
		if dirs, variables := makeCaches(b, program); dirs[0] != program.Temp || variables["GOCACHE"] != program.Temp+"/go-build" {
			t.Errorf("caches below %s: %v, %v", base, dirs, variables)
		}
	}
	b.Caches = ""
	if dirs, variables := makeCaches(b, program); toolchains(b, env) != nil || dirs != nil || variables != nil {
		t.Errorf("a process that runs no commands gets %v and %v", dirs, variables)
	}
}

func TestMounts(t *testing.T) {
	g := grants{read: []string{"/a", "/a/b/c", "/proc", "/usr"}, write: []string{"/a/b", "/home/u/project"}}
	got := mounts(sandboxpolicy.Policy{Home: "/home/u"}, g, &guard{})
	want := strings.Fields("--proc /proc --remount-ro /proc --dev /dev --ro-bind /a /a --bind /a/b /a/b --ro-bind /a/b/c /a/b/c " +
		"--perms 0700 --tmpfs /home/u --bind /home/u/project /home/u/project --perms 1777 --tmpfs /tmp --ro-bind /usr /usr --perms 1777 --tmpfs /var/tmp")
	testkit.Equal(t, want, got)
	for name, g := range map[string]grants{"the home itself": {read: []string{"/home/u"}}, "its parent": {write: []string{"/home"}}} {
		if got := mounts(sandboxpolicy.Policy{Home: "/home/u"}, g, &guard{}); slices.Contains(got, "0700") {
			t.Errorf("%s is granted and hidden: %v", name, got)
		}
	}
}

// A link in the project opens nothing else, and git reads what its settings include.
func TestGrantOfLinks(t *testing.T) {
	root := tree(t)
	project, home := filepath.Join(root, "project"), filepath.Join(root, "home")
	text := "[include]\n\tpath = ~/more\n[includeIf \"gitdir:x\"]\n\tPath = \"own/settings\"\n[include]\npath = ~/.config\n"
	testkit.OK(t, errors.Join(os.Symlink("../home", filepath.Join(project, "out")), os.Symlink("src", filepath.Join(project, "in")), os.MkdirAll(filepath.Join(home, "own"), 0o700),
		os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(text), 0o600), os.WriteFile(filepath.Join(home, "more"), nil, 0o600), os.WriteFile(filepath.Join(home, "own/settings"), nil, 0o600)))
	g := grant(sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Home: home, WorkDir: project, Write: []string{
		filepath.Join(project, "out"), filepath.Join(project, "in"), filepath.Join(project, "src"),
	}}, sandboxpolicy.Program{})
	testkit.Equal(t, []string{filepath.Join(project, "src")}, g.write)
	for _, name := range []string{"more", "own/settings", ".gitconfig"} {
		if !slices.Contains(g.read, filepath.Join(home, name)) {
			t.Errorf("git cannot read %s", name)
		}
	}
}

// Each name of a writable directory gets the same mounts, a repository and a link in it included.
func TestGuard(t *testing.T) {
	root := tree(t)
	project := filepath.Join(root, "project")
	testkit.OK(t, exec.Command("git", "init", "-q", project).Run())
	testkit.OK(t, exec.Command("git", "-C", project, "config", "core.hooksPath", "src").Run())
	g := testkit.Must(protect(t.Context(), []string{filepath.Join(root, "link"), project, filepath.Join(project, ".git/info")}))
	for _, name := range []string{"project", "link"} {
		at := g.mounts(filepath.Join(root, name))
		for path, option := range map[string]string{
			".git": "--bind", ".git/config": "--ro-bind", ".git/config.worktree": "--ro-bind", ".git/hooks": "--ro-bind", ".git/info": "--bind",
			".git/modules": "--ro-bind", ".git/worktrees": "--ro-bind", "src": "--ro-bind",
		} {
			testkit.Equal(t, []string{option, filepath.Join(project, path), filepath.Join(root, name, path)}, at[filepath.Join(root, name, path)])
		}
		testkit.Equal(t, 8, len(at))
	}
	testkit.OK(t, CheckRepository(t.Context(), project))
}

// A link, and a repository that git does not use, cannot be protected.
func TestGuardRefuses(t *testing.T) {
	for name, damage := range map[string]func(at string) error{
		"a link": func(at string) error { return os.Symlink("src", filepath.Join(filepath.Dir(at), ".claude")) },
		"linked hooks": func(at string) error {
			return errors.Join(os.RemoveAll(at+"/hooks"), os.Symlink("../src", at+"/hooks"))
		},
		"another directory": func(at string) error { return os.WriteFile(at+"/commondir", []byte("../x"), 0o600) },
		"no head":           func(at string) error { return os.Remove(at + "/HEAD") },
		"another pointer": func(at string) error {
			return errors.Join(os.RemoveAll(at), os.WriteFile(at, []byte("gitdir: x"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			project := filepath.Join(tree(t), "project")
			testkit.OK(t, exec.Command("git", "init", "-q", project).Run())
			_, err := protect(t.Context(), []string{project})
			testkit.OK(t, errors.Join(err, damage(filepath.Join(project, ".git"))))
			if _, err := protect(t.Context(), []string{project}); failure.KindOf(err) != failure.SandboxUnavailable {
				t.Errorf("protected: %v", err)
			}
		})
	}
}

// Loader variables have no effect before the program is confined, and the program gets them back.
func TestLoaderVariablesReachTheProgramAlone(t *testing.T) {
	for _, mode := range []sandboxpolicy.Mode{sandboxpolicy.Workspace, sandboxpolicy.Strict} {
		env := []string{"PATH=/bin:/usr/bin", "LD_LIBRARY_PATH=/none:", "GLIBC_TUNABLES=", "KEPT=x"}
		c := testkit.Must(New(helper).Wrap(t.Context(), sandboxpolicy.Policy{Mode: mode, Network: sandboxpolicy.Off, WorkDir: "/"}, sandboxpolicy.Program{Path: "/bin/sh", Args: []string{"-c", `echo "$LD_LIBRARY_PATH $KEPT"`}, Env: env}))
		for _, entry := range c.Env {
			if strings.HasPrefix(entry, "LD_") || strings.HasPrefix(entry, "GLIBC_") {
				t.Errorf("%s: %s acts on what confines", mode, entry)
			}
		}
		p := exec.Command(c.Name)
		p.Args, p.Env, p.ExtraFiles, p.Dir = c.Args, c.Env, c.Files, "/"
		out, err := p.CombinedOutput()
		c.Started()
		if string(out) != "/none: x\n" || err != nil {
			t.Errorf("%s: %q, %v", mode, out, err)
		}
	}
}

// A symbolic link that replaced a granted path after the path was resolved grants nothing.
func TestReplacedPathGrantsNothing(t *testing.T) {
	root := tree(t)
	granted := filepath.Join(root, "project/src")
	c := testkit.Must(New(helper).Wrap(t.Context(), sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, Read: []string{granted}, WorkDir: filepath.Join(root, "plugins")},
		sandboxpolicy.Program{Path: "/bin/cat", Args: []string{filepath.Join(root, "home/.netrc")}}))
	testkit.OK(t, errors.Join(os.WriteFile(filepath.Join(root, "home/.netrc"), []byte("secret"), 0o600), os.Remove(granted), os.Symlink(filepath.Join(root, "home"), granted)))
	p := exec.Command(c.Name)
	p.Args, p.Env, p.ExtraFiles, p.Dir = c.Args, c.Env, c.Files, "/"
	out, err := p.CombinedOutput()
	c.Started()
	if err == nil || strings.Contains(string(out), "secret") {
		t.Errorf("%q, %v", out, err)
	}
}
