package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// gitTime bounds a call of git.
const gitTime = 10 * time.Second

// guard lists the paths in writable directories that the process may not change, because git and this program run what
// they name: git's configuration and hooks, and .claude. All paths are real.
type guard struct {
	granted []string // paths that the process may change
	fixed   []string // become read-only
	points  []string // stay writable inside a fixed path
}

// protect returns the guard of the paths that the process may change. A path that is granted by its own name stays
// writable.
func protect(ctx context.Context, granted []string) (*guard, error) {
	g := &guard{granted: granted}
	for _, dir := range granted {
		var err error
		claude := filepath.Join(dir, ".claude")
		switch resolved, _ := filepath.EvalSymlinks(dir); {
		case resolved != dir: // the list has the real path, too
		case within(dir, g.fixed):
			g.points = append(g.points, dir)
		case exists(claude):
			err = errors.Join(g.fix(claude), g.repository(ctx, dir))
		default:
			err = g.repository(ctx, dir)
		}
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func within(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return sandboxpolicy.Within(path, dir) })
}

// fix protects a path if the process could change it. A missing path and a symbolic link cannot be mounted over.
func (g *guard) fix(path string) error {
	resolved, err := filepath.EvalSymlinks(path)
	switch named := within(path, g.granted); {
	case !named && !within(cmp.Or(resolved, path), g.granted):
	case errors.Is(err, fs.ErrNotExist): // of core.hooksPath: what else is missing was made
		return failure.New(failure.SandboxUnavailable, "the sandbox cannot protect %s, the directory of git's hooks: it is missing", path).
			WithHint("make it: `mkdir -p %s`; or name another one: `git config core.hooksPath`", path)
	case err != nil:
		return unprotected(path, err.Error())
	case named && resolved != path:
		return unprotected(path, "it leads through a symbolic link to "+resolved)
	default:
		g.fixed = append(g.fixed, resolved)
	}
	return nil
}

func unprotected(path, reason string) error {
	return failure.New(failure.SandboxUnavailable, "the sandbox cannot protect %s: %s", path, reason).
		WithHint("restore a missing file, put a directory or file in the place of a link, remove files that are not yours; `git config core.hooksPath` shows the directory of the hooks")
}

// CheckRepository returns an error if git uses another git directory than .git of a project that has one. A process that
// may write there can cause that, which no mount prevents.
func CheckRepository(ctx context.Context, project string) error {
	return (&guard{}).repository(ctx, project)
}

// repository protects the git repository of a directory.
func (g *guard) repository(ctx context.Context, dir string) error {
	if !mayHaveRepository(dir) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime) // an agent may have put a pipe in the place of a file
	defer cancel()
	git := systemGit()
	ask := exec.CommandContext(ctx, git, "-c", "safe.directory=*", "-C", dir, "rev-parse", "--git-dir", "--git-common-dir", "--git-path", "hooks")
	ask.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "GIT_") })
	out, fault := ask.Output()
	paths := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, p := range paths {
		if paths[i] = filepath.Clean(p); !filepath.IsAbs(p) {
			paths[i] = filepath.Join(dir, p)
		}
	}
	at := filepath.Join(dir, ".git")
	info, err := os.Lstat(at)
	switch {
	case err != nil && fault != nil:
		return nil // there is no repository
	case git == "":
		return unprotected(at, "git is not installed by the system")
	case fault != nil || len(paths) != 3 || err == nil && info.IsDir() && (paths[0] != at || paths[1] != at):
		return unprotected(at, "git uses another directory in its place; an agent may have damaged it, or made a file commondir in it")
	}
	own, common := paths[0], paths[1]
	var fixes []error
	if err == nil && !info.IsDir() {
		fixes = append(fixes, g.fix(at))
	}
	if own != common {
		if sandboxpolicy.Within(own, common) { // a .git file of an agent must not open another directory
			g.points = append(g.points, own)
		}
		fixes = append(fixes, g.fixEach(own, "config.worktree", "commondir", "gitdir"))
	}
	if !within(dir, paths[:2]) { // from within a git directory, git does not say where the hooks of its worktrees are
		fixes = append(fixes, g.fix(paths[2]))
	}
	return errors.Join(append(fixes, g.gitDir(common))...)
}

// mayHaveRepository reports whether git could find a repository in or above a directory. It saves a process of git.
func mayHaveRepository(dir string) bool {
	for above := ""; dir != above; dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, ".git")) || exists(filepath.Join(dir, "HEAD")) {
			return true
		}
		above = dir
	}
	return false
}

// systemGit returns the path of a git that belongs to root, "" for none. An agent can make another one in a directory of PATH.
func systemGit() string {
	for _, dir := range systemDirs {
		path, err := filepath.EvalSymlinks(filepath.Join(dir, "git"))
		if err == nil && rootsOwn(path) == nil && rootsOwn(filepath.Dir(path)) == nil {
			return path
		}
	}
	return ""
}

func rootsOwn(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 0 {
		return fmt.Errorf("%s does not belong to root", path)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s can be written by others than root", path)
	}
	return nil
}

// gitDir protects a git directory with those of its submodules.
func (g *guard) gitDir(dir string) error {
	if err := g.fixEach(dir, "config", "config.worktree", "hooks/", "info/", "worktrees/", "modules/"); err != nil {
		return err
	}
	return filepath.WalkDir(filepath.Join(dir, "modules"), func(module string, _ fs.DirEntry, err error) error {
		if err != nil || !exists(filepath.Join(module, "HEAD")) {
			return nil //nolint:nilerr // what cannot be read stays read-only
		}
		g.points = append(g.points, module)
		return cmp.Or(g.gitDir(module), fs.SkipDir)
	})
}

// fixEach protects paths in a git directory. It makes a missing one for the owner of dir: an empty directory if its name
// ends in a slash, else an empty file. To git that is the same.
func (g *guard) fixEach(dir string, names ...string) error {
	around, err := os.Stat(dir)
	if err != nil || !within(dir, g.granted) {
		return err
	}
	for _, name := range names {
		path, perm := filepath.Join(dir, name), around.Mode().Perm()
		if !exists(path) {
			if strings.HasSuffix(name, "/") {
				err = os.MkdirAll(path, perm) // another attempt may make it now
			} else {
				err = os.WriteFile(path, nil, perm&0o666)
			}
			if st, ok := around.Sys().(*syscall.Stat_t); ok && err == nil && os.Geteuid() == 0 {
				err = os.Lchown(path, int(st.Uid), int(st.Gid))
			}
		}
		if err = cmp.Or(err, g.fix(path)); err != nil {
			return err
		}
	}
	return nil
}

// fixedMounts returns the mount points that protect what a program of workspace may not change in its writable directories.
func fixedMounts(ctx context.Context, g grants, p sandboxpolicy.Program) ([]confine.Mount, error) {
	if p.Path == "" {
		return []confine.Mount{{Path: os.DevNull, ReadOnly: true}}, nil // a probe
	}
	guarded, err := protect(ctx, g.granted)
	if err != nil {
		return nil, err
	}
	at := map[string][]string{}
	for _, root := range g.write {
		if resolved, _ := filepath.EvalSymlinks(root); resolved == root { // a mount at a real path is seen by its other names, too
			maps.Copy(at, guarded.mounts(root))
		}
	}
	var all []confine.Mount
	for _, path := range slices.Sorted(maps.Keys(at)) {
		all = append(all, confine.Mount{Path: path, ReadOnly: at[path][0] == "--ro-bind"})
	}
	return all, nil
}

// mounts returns bubblewrap's arguments for each path below a writable directory, by the path's name below root. The
// directories around a fixed path become mount points, so that they cannot be moved away.
func (g *guard) mounts(root string) map[string][]string {
	at := map[string][]string{}
	base, _ := filepath.EvalSymlinks(root)
	bind := func(option, path string) {
		if path != base && sandboxpolicy.Within(path, base) {
			name := filepath.Join(root, strings.TrimPrefix(path, base))
			at[name] = []string{option, path, name}
		}
	}
	for _, f := range g.fixed {
		bind("--ro-bind", f)
		for dir := filepath.Dir(f); dir != base && sandboxpolicy.Within(dir, base) && !within(dir, g.fixed); dir = filepath.Dir(dir) {
			bind("--bind", dir)
		}
	}
	for _, p := range g.points {
		bind("--bind", p)
	}
	return at
}
