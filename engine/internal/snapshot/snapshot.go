package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Repository holds the snapshots of one workspace, for one session. Use [Open]. It is safe for concurrent use.
type Repository struct {
	dir      string // of the bare repository, which all sessions of the workspace share
	worktree string
	index    string // git's list of the files with their times, of the session alone
	mu       sync.Mutex
}

// Open returns the repository of a workspace below the state directory, and makes it at its first use. An error without
// the program git has a hint. A session is opened by one process at a time.
func Open(ctx context.Context, stateDir, worktree, session string) (*Repository, error) {
	worktree, err := filepath.EvalSymlinks(worktree)
	if err != nil {
		return nil, err
	}
	r := at(stateDir, worktree, session)
	if err := removeFile(r.index + ".lock"); err != nil { // of a killed process
		return nil, err
	}
	if _, err := exec.LookPath("git"); err != nil {
		return nil, failure.New(failure.ConfigInvalid, "the program git, which measures what changed, is missing: %w", err).WithHint("install git (apt install git)")
	}
	if _, err := os.Stat(filepath.Join(r.dir, "HEAD")); err == nil {
		return r, nil
	}
	if err := r.create(ctx, excludedIn(worktree, stateDir)); err != nil {
		return nil, err
	}
	return r, nil
}

// OpenUser is [Open] with the state directory of the user.
func OpenUser(ctx context.Context, worktree, session string) (*Repository, error) {
	dir, err := catalog.StateDir()
	if err != nil {
		return nil, err
	}
	return Open(ctx, dir, worktree, session)
}

// ProjectName returns the name of a project's directories below the state directory: its own name and a digest of its
// path, which has no links.
func ProjectName(path string) string {
	const maxBase = 200 // of the 255 bytes of a file name; in bytes
	sum := sha256.Sum256([]byte(path))
	base := filepath.Base(path)
	base = strings.ToValidUTF8(base[:min(len(base), maxBase)], "_")
	return base + "-" + hex.EncodeToString(sum[:6])
}

func at(stateDir, worktree, session string) *Repository {
	dir := filepath.Join(stateDir, "snapshots", ProjectName(worktree))
	return &Repository{dir: dir, worktree: worktree, index: filepath.Join(dir, "index-"+session)}
}

// Remove removes the snapshots of a session that does not run, and files that no snapshot has any longer. It is no error if
// there are none.
func Remove(ctx context.Context, stateDir, worktree, session string) error {
	worktree, err := filepath.EvalSymlinks(worktree)
	if err != nil {
		return err
	}
	r := at(stateDir, worktree, session)
	if _, err := os.Stat(r.dir); err != nil {
		return nil //nolint:nilerr // no session of the workspace has snapshots
	}
	refs, err := r.git(ctx, "", "for-each-ref", "--format=delete %(refname)", ref(Name(session)))
	if err != nil {
		return err
	}
	if refs != "" {
		if _, err := r.gitInput(ctx, "", refs, "update-ref", "--stdin"); err != nil {
			return err
		}
		// Another session may have written files that its next snapshot will name.
		if _, err := r.git(ctx, "", "gc", "-q", "--prune=1.hour.ago"); err != nil {
			return err
		}
	}
	return errors.Join(removeFile(r.index+".lock"), removeFile(r.index))
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// create makes the bare repository under another name first: a process that is killed leaves no half of one, and two
// sessions can begin at the same time.
func (r *Repository) create(ctx context.Context, excluded string) error {
	parent := filepath.Dir(r.dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(parent, ".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := r.git(ctx, "", "init", "-q", "--template=", "--bare", dir); err != nil {
		return err
	}
	info := filepath.Join(dir, "info")
	if err := errors.Join(os.MkdirAll(info, 0o700), os.WriteFile(filepath.Join(info, "attributes"), []byte(rawContent), 0o600),
		os.WriteFile(filepath.Join(info, "exclude"), []byte(excluded), 0o600)); err != nil {
		return err
	}
	if err := os.Rename(dir, r.dir); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) {
		return err
	}
	return nil
}

// excludedIn returns the excluded files, with the directories of the home and of our state where the workspace has them.
func excludedIn(worktree, stateDir string) string {
	all := excluded
	home, _ := os.UserHomeDir()
	for _, dir := range []string{home, stateDir} {
		if rel, err := filepath.Rel(worktree, dir); dir != "" && err == nil && filepath.IsLocal(rel) && rel != "." {
			all += "/" + filepath.ToSlash(rel) + "/\n"
		}
	}
	return all
}

// rawContent stores files as they are, whatever .gitattributes says (gitattributes(5)).
const rawContent = "* -text -eol -ident -filter -working-tree-encoding -export-ignore -export-subst\n"

// excluded are the files that no snapshot has: our own, and what runners and package managers write.
const excluded = `/.claude/
__pycache__/
*.pyc
.pytest_cache/
.mypy_cache/
.ruff_cache/
.coverage
node_modules/
.venv/
venv/
.tox/
/target/
`

// dependencies are the directories of installed packages, which a runner needs beside an earlier state of the files.
var dependencies = []string{"node_modules", ".venv", "venv"}

// Record keeps the workspace as the snapshot with a name and returns its id. A name is one or more words with slashes
// between them; an earlier snapshot of that name is kept under its id only. The message belongs to the snapshot.
func (r *Repository) Record(ctx context.Context, name, message string) (id string, err error) {
	tree, err := r.Tree(ctx)
	if err != nil {
		return "", err
	}
	if id, err = r.gitInput(ctx, "", message, "commit-tree", tree); err != nil {
		return "", err
	}
	id = strings.TrimSpace(id)
	_, err = r.git(ctx, "", "update-ref", ref(name), id)
	return id, err
}

// Tree returns an id of the workspace's files, which is the same for the same files.
func (r *Repository) Tree(ctx context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	index := "GIT_INDEX_FILE=" + r.index
	paths, err := r.list(ctx, r.index, "--cached", "--others")
	if err != nil {
		return "", err
	}
	vanished := r.vanishedPaths(paths)
	if _, err := r.gitInput(ctx, index, strings.Join(vanished, "\x00"), "update-index", "-z", "--force-remove", "--stdin"); err != nil {
		return "", err
	}
	paths = slices.DeleteFunc(paths, func(name string) bool { return slices.Contains(vanished, name) })
	update := append(r.storage(ctx), "update-index", "-z", "--add", "--remove", "--replace", "--stdin")
	if _, err := r.gitInput(ctx, index, strings.Join(paths, "\x00"), update...); err != nil {
		return "", err
	}
	tree, err := r.git(ctx, index, "write-tree")
	return strings.TrimSpace(tree), err
}

// storage returns git's options for writing the workspace's files: those of the session's first snapshot go to one pack,
// because a file of its own for each takes several times as long. Git before 2.37 would make a pack of each.
func (r *Repository) storage(ctx context.Context) []string {
	if _, err := os.Stat(r.index); err == nil {
		return nil
	}
	var major, minor int
	version, err := r.git(ctx, "", "version")
	if _, scanErr := fmt.Sscanf(version, "git version %d.%d", &major, &minor); err != nil || scanErr != nil || major < 2 || major == 2 && minor < 37 {
		return nil
	}
	return []string{"-c", "core.bigFileThreshold=1"}
}

// Name returns the name of a snapshot of these parts, each of which becomes a valid word in the name of a reference of git.
func Name(parts ...string) string {
	words := make([]string, len(parts))
	for i, part := range parts {
		words[i] = strings.NewReplacer(".", "%2E", "~", "%7E").Replace(url.QueryEscape(part))
	}
	return strings.Join(words, "/")
}

func ref(name string) string { return "refs/snapshots/" + name }

// list returns the files that an index has or the workspace. A nested repository, which git lists as a directory, is
// listed as a workspace of its own.
func (r *Repository) list(ctx context.Context, index string, kinds ...string) ([]string, error) {
	listed, err := r.git(ctx, "GIT_INDEX_FILE="+index, append([]string{"ls-files", "-z", "--exclude-standard"}, kinds...)...)
	if err != nil {
		return nil, err
	}
	var paths []string
	for name := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		dir, nested := strings.CutSuffix(name, "/")
		if !nested {
			paths = append(paths, name)
			continue
		}
		inner := &Repository{dir: r.dir, worktree: filepath.Join(r.worktree, dir)}
		files, err := inner.list(ctx, filepath.Join(r.dir, "no-index"), "--others")
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			paths = append(paths, name+file)
		}
	}
	return slices.DeleteFunc(paths, func(name string) bool { return name == "" || strings.HasSuffix(name, "/") }), nil
}

// Ignored returns the files that a .gitignore of the workspace leaves out of snapshots, but for those of directories that
// it leaves out whole.
func (r *Repository) Ignored(ctx context.Context) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	listed, err := r.git(ctx, "GIT_INDEX_FILE="+r.index, "ls-files", "-z", "--others", "--ignored", "--directory", "--exclude-per-directory=.gitignore")
	return slices.DeleteFunc(strings.Split(listed, "\x00"), func(name string) bool { return name == "" || strings.HasSuffix(name, "/") }), err
}

// vanishedPaths returns the paths whose place a directory has now, or that have a link instead of a directory above them. Git
// refuses to update both.
func (r *Repository) vanishedPaths(paths []string) []string {
	isDir := map[string]bool{".": true}
	var isRealDir func(dir string) bool
	isRealDir = func(dir string) bool {
		known, ok := isDir[dir]
		if !ok {
			info, err := os.Lstat(filepath.Join(r.worktree, dir))
			known = err == nil && info.IsDir() && isRealDir(path.Dir(dir))
			isDir[dir] = known
		}
		return known
	}
	var vanished []string
	for _, name := range paths {
		if info, err := os.Lstat(filepath.Join(r.worktree, name)); err != nil || info.IsDir() || !isRealDir(path.Dir(name)) {
			vanished = append(vanished, name)
		}
	}
	return vanished
}

// Find returns the id and the message of the snapshot with a name; found is false if there is none.
func (r *Repository) Find(ctx context.Context, name string) (id, message string, found bool, err error) {
	text, err := r.git(ctx, "", "for-each-ref", "--format=%(refname)%00%(objectname)%00%(contents)%00", ref(name))
	if err != nil {
		return "", "", false, err
	}
	all := strings.Split(text, "\x00")
	for i := 0; i+2 < len(all); i += 3 { // the pattern matches the names below the name, too
		if strings.TrimSpace(all[i]) == ref(name) {
			return all[i+1], strings.TrimSuffix(all[i+2], "\n"), true, nil
		}
	}
	return "", "", false, nil
}

// Changed returns the files that differ between two snapshots, in order: added, changed, removed.
func (r *Repository) Changed(ctx context.Context, from, to string) ([]string, error) {
	out, err := r.git(ctx, "", "diff-tree", "-r", "-z", "--no-renames", "--name-only", from, to)
	if err != nil || out == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"), nil
}

// Patch returns the differences between two snapshots as git apply reads them, without one file.
func (r *Repository) Patch(ctx context.Context, from, to, without string) (string, error) {
	return r.git(ctx, "", "diff-tree", "-r", "-p", "--binary", "--no-renames", "--no-textconv", "--no-ext-diff", from, to, "--", ":/", ":(exclude,literal)"+without)
}

// Mode returns the mode of a file of a snapshot as git stores it, such as "100644", "" if the snapshot has no such file.
func (r *Repository) Mode(ctx context.Context, id, name string) (string, error) {
	entry, err := r.entry(ctx, id, name)
	mode, _, _ := strings.Cut(entry, " ")
	return mode, err
}

// Read returns the content of a file of a snapshot, "" if the snapshot has no such file.
func (r *Repository) Read(ctx context.Context, id, name string) (string, error) {
	entry, err := r.entry(ctx, id, name)
	if err != nil || entry == "" {
		return "", err
	}
	return r.git(ctx, "", "cat-file", "blob", id+":"+name)
}

// entry returns the entry of a file of a snapshot as update-index reads it, "" if the snapshot has no such file.
func (r *Repository) entry(ctx context.Context, id, name string) (string, error) {
	entry, err := r.git(ctx, "", "ls-tree", "-z", id, "--", ":(literal)"+name)
	if err != nil || !strings.Contains(entry, " blob ") {
		return "", err
	}
	return entry, nil
}

// Export makes a directory below parent with the files of a snapshot; the named ones are as in another snapshot. Links
// lead to the installed packages of the workspace. The caller calls [RemoveExport], also after an error. An agent that can
// write parent cannot make it write elsewhere.
func (r *Repository) Export(ctx context.Context, parent, id, other string, names []string) (dir string, err error) {
	above, err := os.OpenRoot(parent)
	if err != nil {
		return "", err
	}
	defer above.Close()
	base := ".export-" + rand.Text()
	if err := above.Mkdir(base, 0o700); err != nil {
		return "", err
	}
	dir = filepath.Join(parent, base)
	root, err := above.OpenRoot(base)
	if err != nil {
		return dir, err
	}
	defer root.Close()
	private, err := os.MkdirTemp(r.dir, "export-*")
	if err != nil {
		return dir, err
	}
	defer os.RemoveAll(private)
	entries, err := r.entries(ctx, other, names)
	if err != nil {
		return dir, err
	}
	files := filepath.Join(private, "files")
	for _, step := range []struct {
		input string
		args  []string
	}{
		{"", []string{"read-tree", id}},
		{entries, []string{"update-index", "-z", "--replace", "--index-info"}},
		{"", []string{"checkout-index", "-a", "-f", "--prefix=" + files + string(os.PathSeparator)}},
	} {
		if _, err := r.gitInput(ctx, "GIT_INDEX_FILE="+filepath.Join(private, "index"), step.input, step.args...); err != nil {
			return dir, err
		}
	}
	if err := copyTree(root, files); err != nil {
		return dir, err
	}
	for _, name := range dependencies {
		if _, err := os.Stat(filepath.Join(r.worktree, name)); err != nil {
			continue
		}
		if err := root.Symlink(filepath.Join(r.worktree, name), name); err != nil && !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
	return dir, nil
}

// copyTree copies the files, directories and links below a directory; there are none if it is missing.
func copyTree(to *os.Root, from string) error {
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == from {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil || e.IsDir() {
			return cmp.Or(err, to.Mkdir(rel, 0o700))
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Mode().Type() == fs.ModeSymlink {
			target, err := os.Readlink(name)
			return cmp.Or(err, to.Symlink(target, rel))
		}
		content, err := os.ReadFile(name)
		return cmp.Or(err, to.WriteFile(rel, content, info.Mode().Perm()))
	})
}

// RemoveExport removes a directory that [Repository.Export] made; it does nothing for "".
func RemoveExport(dir string) { _ = os.RemoveAll(dir) }

// entries returns the entries of files of a snapshot as update-index reads them; a missing file is an entry to remove.
func (r *Repository) entries(ctx context.Context, id string, names []string) (string, error) {
	var all strings.Builder
	for _, name := range names {
		entry, err := r.entry(ctx, id, name)
		if err != nil {
			return "", err
		}
		all.WriteString(cmp.Or(entry, "0 "+strings.Repeat("0", 40)+"\t"+name+"\x00"))
	}
	return all.String(), nil
}

// Program returns the path of git: the first one in PATH that does not lie in the project, where an agent could have made it.
// If there is none, it is a name that no program has, for the error.
func Program(project string) string {
	project, _ = filepath.EvalSymlinks(project)
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path, err := exec.LookPath(filepath.Join(dir, "git"))
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		if target, err := filepath.EvalSymlinks(path); err == nil && !sandboxpolicy.Within(target, project) && !sandboxpolicy.Within(path, project) {
			return path
		}
	}
	return "git outside of the project"
}

func (r *Repository) git(ctx context.Context, variable string, args ...string) (string, error) {
	return r.gitInput(ctx, variable, "", args...)
}

// gitInput runs git on the bare repository and the workspace, without any configuration but our own, so that nothing an
// agent configured runs.
func (r *Repository) gitInput(ctx context.Context, variable, input string, args ...string) (string, error) {
	fixed := []string{
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.excludesFile=/dev/null", "-c", "core.attributesFile=/dev/null",
		"-c", "core.quotePath=false", "-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
		"-c", "core.compression=1",
	}
	if args[0] != "init" {
		fixed = append(fixed, "--git-dir="+r.dir, "--work-tree="+r.worktree)
	}
	var out, fault bytes.Buffer
	cmd := exec.CommandContext(ctx, Program(r.worktree), slices.Concat(fixed, args)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = r.worktree, strings.NewReader(input), &out, &fault, time.Second
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/dev/null", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
		"GIT_AUTHOR_NAME=engine", "GIT_AUTHOR_EMAIL=engine@localhost", "GIT_COMMITTER_NAME=engine", "GIT_COMMITTER_EMAIL=engine@localhost",
	}
	if variable != "" {
		cmd.Env = append(cmd.Env, variable)
	}
	if err := cmd.Run(); err != nil {
		command := slices.IndexFunc(args, func(arg string) bool { return arg != "-c" && !strings.Contains(arg, "=") })
		return "", fmt.Errorf("git %s of the snapshots in %s: %w: %s", args[command], r.dir, err, strings.TrimSpace(fault.String()))
	}
	return out.String(), nil
}
