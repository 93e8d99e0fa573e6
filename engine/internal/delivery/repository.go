package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/snapshot"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// State is a state of the repository. Without one it has the user's Remotes alone.
type State struct {
	Head   string            `json:"head,omitempty"`   // the id of the commit, "" for none
	Branch string            `json:"branch,omitempty"` // the reference that HEAD names, "" if it names a commit
	Refs   map[string]string `json:"refs,omitempty"`   // ids of objects, by the names of the references
	Staged []string          `json:"staged,omitempty"` // differences between the commit and the index, as diff-index prints them
	// Remotes are the settings that decide where a push goes and what it runs.
	Remotes []string `json:"remotes,omitempty"`
}

// remotes matches the names of these settings.
const remotes = `^(remote|url|credential|http|include|includeif|protocol|push)\.|^core\.(sshcommand|gitproxy|askpass|fsmonitor)$|^branch\..*\.gh-`

// Read returns the state of the repository that a directory belongs to.
func Read(ctx context.Context, dir string) (State, error) {
	settings, _ := git(ctx, dir, "config", "--get-regexp", remotes) // exit code 1 for none
	s := State{Remotes: slices.Collect(strings.Lines(settings))}
	if _, err := git(ctx, dir, "rev-parse", "--git-dir"); err != nil {
		return s, ctx.Err() // there is none
	}
	branch, _ := git(ctx, dir, "symbolic-ref", "-q", "HEAD") // exit code 1 if HEAD names a commit
	head, _ := git(ctx, dir, "rev-parse", "-q", "--verify", "HEAD^{commit}")
	s.Branch, s.Head = strings.TrimSpace(branch), strings.TrimSpace(head)
	refs, err := git(ctx, dir, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(refs) {
		if id, name, found := strings.Cut(strings.TrimSpace(line), " "); found {
			if s.Refs == nil {
				s.Refs = map[string]string{}
			}
			s.Refs[name] = id
		}
	}
	tree, err := commitOrEmptyTree(ctx, dir, s.Head)
	if err != nil {
		return s, err
	}
	staged, err := git(ctx, dir, "diff-index", "--cached", "--no-renames", tree)
	s.Staged = slices.Collect(strings.Lines(staged))
	return s, err
}

// RecordStart records the project and its repository before a run that delivers, in a snapshot of the user. [FindStart]
// finds the record.
func RecordStart(ctx context.Context, dir, session, runID string) error {
	snapshots, err := snapshot.OpenUser(ctx, dir, session)
	if err != nil {
		return err
	}
	s, err := Read(ctx, dir)
	if err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = snapshots.Record(ctx, snapshot.Name(session, runID, startName), string(text))
	return err
}

// startName is the name of the snapshot before a run.
const startName = "start"

// FindStart returns the snapshot before a run, "" for none, and the state of the repository then.
func FindStart(ctx context.Context, snapshots *snapshot.Repository, session, runID string) (id string, s State, err error) {
	id, text, found, err := snapshots.Find(ctx, snapshot.Name(session, runID, startName))
	if err != nil || !found {
		return "", s, err
	}
	err = json.Unmarshal([]byte(text), &s)
	return id, s, err
}

// commitOrEmptyTree returns the commit, or the id of the tree without files for "".
func commitOrEmptyTree(ctx context.Context, dir, commit string) (string, error) {
	if commit != "" {
		return commit, nil
	}
	id, err := git(ctx, dir, "hash-object", "-t", "tree", "/dev/null")
	return strings.TrimSpace(id), err
}

// moved returns the first reference that differs between two states, in order, "" for none. It leaves out those in except,
// and branches of other repositories that a fetch updated: an editor may fetch at any time.
func moved(ctx context.Context, dir string, before, after State, except ...string) string {
	names := maps.Clone(after.Refs)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, before.Refs)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before.Refs[name] == after.Refs[name] || slices.Contains(except, name) {
			continue
		}
		if strings.HasPrefix(name, "refs/remotes/") && after.Refs[name] != "" {
			why, _ := git(ctx, dir, "log", "-g", "-1", "--no-show-signature", "--format=%gs", name, "--")
			if strings.HasPrefix(why, "fetch") || strings.HasPrefix(why, "pull") {
				continue
			}
		}
		return name
	}
	return ""
}

// maxListed is the greatest number of paths in an error.
const maxListed = 10

// CheckStart returns an error if a run with the mode must not begin in a directory: a commit would mix the user's own
// uncommitted changes with those of the run. Directory specs and our own files do not count.
func CheckStart(ctx context.Context, dir string, mode plan.DeliveryMode) error {
	if !slices.Contains(plan.DeliveryModes(), mode) {
		return refused("unknown %s %q", plan.FieldDelivery, mode).WithHint("use commit, pr, files or patch")
	}
	if !mode.Commits() {
		return nil
	}
	if _, err := exec.LookPath("git"); err != nil {
		return refused("the program git, which delivery mode %s requires, is missing: %w", mode, err).WithHint("install git (apt install git)")
	}
	if _, err := git(ctx, dir, "rev-parse", "--git-dir"); err != nil {
		return refused("delivery mode %s needs a git repository: %w", mode, err).
			WithHint("make one with `git init` and a first commit, or use %s", failure.Option("delivery_mode")+" files")
	}
	if mode == plan.DeliverPR {
		if err := checkForge(ctx, dir); err != nil {
			return err
		}
	}
	out, err := git(ctx, dir, "status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty", "--", ":/", ":(exclude).claude", ":(exclude)specs")
	if err != nil {
		return err
	}
	var paths []string
	for entry := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if len(entry) > 3 { // two letters and a space before the path
			paths = append(paths, entry[3:])
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return refused("delivery mode %s needs a working tree without changes of your own, but git status shows %s", mode, list(paths)).
		WithHint("keep them out of the commit: run `git stash -u`, or commit them; or use %s, which leaves them as they are", failure.Option("delivery_mode")+" files")
}

// checkForge returns an error if no pull request can be made from a directory.
func checkForge(ctx context.Context, dir string) error {
	if _, err := exec.LookPath("gh"); err != nil {
		return refused("the program gh, which makes the pull request, is missing: %w", err).
			WithHint("install it (https://cli.github.com) and log in with `gh auth login`, or use %s", failure.Option("delivery_mode")+" commit")
	}
	if _, err := git(ctx, dir, "remote", "get-url", "origin"); err != nil {
		return refused("delivery mode pr pushes to origin, which the repository does not have: %w", err).
			WithHint("add it with `git remote add origin URL`, or use %s", failure.Option("delivery_mode")+" commit")
	}
	return nil
}

func refused(format string, args ...any) *failure.Error {
	return failure.New(failure.DeliveryRefused, format, args...)
}

// list returns the first paths, with the number of the others.
func list(paths []string) string {
	if over := len(paths) - maxListed; over > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:maxListed], ", "), over)
	}
	return strings.Join(paths, ", ")
}

// variables are the variables that git gets: none of them is a secret, which its traces could write down.
var variables = []string{"PATH", "HOME", "USER", "XDG_CONFIG_HOME", "TMPDIR"}

// git runs git in a directory, with the repository that it finds from there, and without programs that the repository
// configures.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	return gitInput(ctx, dir, "", args...)
}

func gitInput(ctx context.Context, dir, input string, args ...string) (string, error) {
	options := []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*"}
	var env []string
	if args[0] == "status" { // it filters files of the workspace
		filters, _ := git(ctx, dir, "config", "--show-scope", "--includes", "--name-only", "--get-regexp", `^filter\..*\.(clean|process|required)$`) // exit code 1 for none
		n := 0
		for line := range strings.Lines(filters) {
			if scope, name, found := strings.Cut(strings.TrimSpace(line), "\t"); found && scope != "system" && scope != "global" {
				env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, name), fmt.Sprintf("GIT_CONFIG_VALUE_%d=", n)) // -c would cut a name at its first "="
				n++
			}
		}
		env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n))
	}
	var out, fault bytes.Buffer
	cmd := exec.CommandContext(ctx, snapshot.Program(dir), slices.Concat(options, args)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, strings.NewReader(input), &out, &fault, time.Second
	cmd.Env = slices.Concat(env, []string{"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1"})
	for _, name := range variables {
		if value, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("git %s in %s: %w: %s", args[0], dir, err, strings.TrimSpace(fault.String()))
	}
	return out.String(), nil
}
