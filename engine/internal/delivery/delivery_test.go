package delivery

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/snapshot"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// repository is a project in directory sub of a git repository, with a commit.
type repository struct {
	t         *testing.T
	dir       string
	snapshots *snapshot.Repository
}

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{t: t, dir: filepath.Join(t.TempDir(), "sub")}
	testkit.OK(t, os.Mkdir(r.dir, 0o700))
	r.sh("git init -q -b main ..; git config user.name a; git config user.email a@b.c; echo 1 >one; echo 2 >../two; git add -A ..; git commit -qm first; git init -q --bare ../.git/origin; git remote add origin $(cd ../.git/origin && pwd)")
	r.start()
	return r
}

// start records the state before the run.
func (r *repository) start() {
	r.t.Helper()
	r.t.Setenv("XDG_STATE_HOME", r.t.TempDir())
	testkit.OK(r.t, RecordStart(r.t.Context(), r.dir, "s", "r"))
	r.snapshots = testkit.Must(snapshot.OpenUser(r.t.Context(), r.dir, "s"))
}

func (r repository) sh(script string) {
	r.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// judge returns the facts and the message of the cheat, "" for none.
func (r repository) judge(mode plan.DeliveryMode, files ...string) (map[string]any, string) {
	r.t.Helper()
	id, start, err := FindStart(r.t.Context(), r.snapshots, "s", "r")
	if err != nil || id == "" {
		r.t.Fatal(id, err)
	}
	now := testkit.Must(r.snapshots.Record(r.t.Context(), "now", ""))
	c := Change{Dir: r.dir, Mode: mode, SpecID: "SPEC-1", Start: start, Files: files, File: func(name string) (mode, content string, err error) {
		mode, err = r.snapshots.Mode(r.t.Context(), now, name)
		return mode, testkit.Must(r.snapshots.Read(r.t.Context(), now, name)), err
	}}
	facts, cheat, err := c.Judge(r.t.Context())
	testkit.OK(r.t, err)
	if cheat == nil {
		return facts, ""
	}
	if cheat.Code != CheatCode {
		r.t.Errorf("%v", cheat)
	}
	return facts, cheat.Message
}

const honest = "git switch -qc feature/SPEC-1; git rm -q --cached one; rm one; git add new; "

// U314: a commit has the change, all of it and nothing else, with its message.
func TestCommit(t *testing.T) {
	const message = `git commit -qm 'feat: new' -m 'Files: new, one' -m 'Spec: SPEC-1'; `
	for name, tt := range map[string]struct{ script, want string }{
		"honest":                     {honest + message, ""},
		"line ends":                  {"printf 'a\\r\\n' >new; git config core.autocrlf input;" + honest + message, ""},
		"a filter":                   {"git config filter.up.clean 'touch ran; tr a-z A-Z'; echo 'new filter=up' >>../.git/info/attributes;" + honest + message + "rm -f ../ran", "the commit lacks a part of the change: new"},
		"a filter with an odd name":  {"git config 'filter.a=b.clean' 'touch ../ran ran; tr a-z A-Z'; echo 'new filter=a=b' >>../.git/info/attributes;" + honest + message + "rm -f ran ../ran", "the commit lacks a part of the change: new"},
		"ident":                      {"printf '$Id: %040d $\\n' 1 >new; echo 'new ident' >>../.git/info/attributes;" + honest + message, ""},
		"ident hides code":           {"printf '$Id: b; $\\n' >new; echo 'new ident' >>../.git/info/attributes;" + honest + message, "the commit lacks a part of the change: new"},
		"LFS":                        {honest + "git update-index --cacheinfo 100644,$(printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize 2\\n' $(sha256sum <new | cut -c1-64) | git hash-object -w --stdin),sub/new;" + message, ""},
		"other content, ident":       {"echo 'new ident' >>../.git/info/attributes;" + honest + "git update-index --add --cacheinfo 100644,$(echo evil | git hash-object -w --stdin),sub/new;" + message, "the commit lacks a part of the change: new"},
		"a program":                  {honest + "git update-index --chmod=+x new;" + message, "the commit lacks a part of the change: new"},
		"no program":                 {"chmod +x new;" + honest + "git update-index --chmod=-x new;" + message, ""},
		"a link":                     {honest + "git update-index --add --cacheinfo 120000,$(git hash-object new),sub/new;" + message, "the commit lacks a part of the change: new"},
		"an empty file":              {": >new;" + honest + message + "git rm -q --cached new; git commit -q --amend --no-edit", "the commit lacks a part of the change: new"},
		"a pull request's base":      {"git config branch.feature/SPEC-1.gh-merge-base production;" + honest + message, "the settings of git"},
		"another specification file": {honest + "mkdir specs; echo a >specs/SPEC-1.yaml; git add specs;" + message + "echo b >specs/SPEC-1.yaml", "the commit has files that the run did not change: specs/SPEC-1.yaml"},
		"none":                       {"", "no commit was made"},
		"detached":                   {honest + message + "git checkout -q --detach", "HEAD is on none"},
		"another branch":             {"git commit -q --allow-empty -m x", "HEAD is on refs/heads/main"},
		"two commits":                {honest + message + "git commit -q --allow-empty -m x", "the branch has not exactly one commit on top of"},
		"a graft":                    {honest + message + "git commit -q --allow-empty -m x; git replace --graft HEAD HEAD~2", "the branch has not exactly one commit on top of"},
		"without a parent":           {honest + message + "git commit -q --amend -m x; git update-ref refs/heads/feature/SPEC-1 $(git commit-tree -m x HEAD^{tree})", "the branch has not exactly one commit on top of"},
		"a moved branch":             {honest + message + "git branch -f main HEAD", "refs/heads/main was"},
		"outside the project":        {honest + "echo 3 >../two; git add ../two;" + message, "the commit has files that the run did not change: ../two"},
		"empty":                      {"git switch -qc feature/SPEC-1; git commit -q --allow-empty -m x", "the commit is empty"},
		"left":                       {"git switch -qc feature/SPEC-1; git add new; git rm -q --cached one; git add one;" + message, "the commit lacks a part of the change: one"},
		"another content":            {honest + message + "echo other >new", "the commit lacks a part of the change: new"},
		"staged":                     {honest + message + "echo x >x; git add x", "the index differs from the commit: "},
		"no title":                   {honest + "git commit -qm x -m 'Spec: SPEC-1'", "the message of the commit does not begin with feat: "},
		"a long title":               {honest + "git commit -qm 'feat: " + strings.Repeat("x", 51) + "' -m 'Spec: SPEC-1'", "the title in the message of the commit has more than 50"},
		"many files":                 {honest + "git commit -qm 'feat: x' -m 'Files: " + strings.Repeat("x, ", 11) + "' -m 'Spec: SPEC-1'", "the message of the commit names more than 10 files"},
		"another specification":      {honest + "git commit -qm 'feat: x' -m 'Spec: SPEC-11'", "the message of the commit has no line: Spec: SPEC-1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.sh("echo a >new;" + tt.script)
			facts, got := r.judge(plan.DeliverCommit, "new", "one")
			if _, err := os.Stat(filepath.Join(r.dir, "..", "ran")); err == nil {
				t.Error("a program that the repository configures ran")
			}
			if !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if tt.want == "" && (facts["branch_name"] != "feature/SPEC-1" || facts["status"] != "committed" || !strings.HasPrefix(facts["commit_message"].(string), "feat: new\n\nFiles")) {
				t.Errorf("%v", facts)
			}
		})
	}
}

// The first commit of a repository has no parent.
func TestFirstCommit(t *testing.T) {
	r := repository{t: t, dir: t.TempDir()}
	r.sh("git init -q -b main; git config user.name a; git config user.email a@b.c")
	r.start()
	r.sh("echo 1 >new; git checkout -q --orphan feature/SPEC-1; git add new; git commit -qm 'feat: new' -m 'Spec: SPEC-1'")
	if _, got := r.judge(plan.DeliverCommit, "new"); got != "" {
		t.Error(got)
	}
}

// U314: in the other modes nothing is committed, moved or staged. A fetch is allowed, because editors fetch by themselves.
func TestUncommitted(t *testing.T) {
	const remote = "git push -q origin main; git update-ref -d refs/remotes/origin/main; "
	for name, tt := range map[string]struct{ script, want string }{
		"nothing":    {"", ""},
		"a fetch":    {remote + "git fetch -q origin", ""},
		"a push":     {remote + "git push -q origin main", "refs/remotes/origin/main was none"},
		"a commit":   {"git commit -q --allow-empty -m x", "a commit was made: HEAD was "},
		"a branch":   {"git branch x", "refs/heads/x was none"},
		"a switch":   {"git symbolic-ref HEAD refs/heads/x; git update-ref refs/heads/x refs/heads/main", "HEAD is on refs/heads/x"},
		"the index":  {"git add new", "the index was changed"},
		"the remote": {"git remote set-url origin x", "the settings of git that say where a push goes were changed"},
		"a command":  {"git config core.sshCommand x", "the settings of git that say where a push goes were changed"},
		"no history": {"cp ../.git/config .; rm -rf ../.git; git init -q -b main ..; mv config ../.git", "a commit was made: HEAD was "},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.sh("echo a >new;" + tt.script)
			if _, got := r.judge(plan.DeliverFiles, "new"); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	facts, _ := newRepository(t).judge(plan.DeliverPatch)
	if facts["status"] != "no_changes" || facts["commit_sha"] != nil || facts["spec_id"] != "SPEC-1" {
		t.Errorf("%v", facts)
	}
}

func TestCheckStart(t *testing.T) {
	r := newRepository(t)
	check := func(dir string, mode plan.DeliveryMode) string {
		err := CheckStart(t.Context(), dir, mode)
		if err == nil {
			return ""
		}
		if failure.KindOf(err) != failure.DeliveryRefused || failure.From(err).Hint == "" {
			t.Errorf("%+v", err)
		}
		return err.Error()
	}
	r.sh("mkdir .claude specs; touch .claude/x specs/x")
	testkit.Equal(t, "", check(r.dir, plan.DeliverCommit))
	r.sh("echo 3 >../two; echo 2 >one; touch new")
	testkit.Equal(t, "", check(r.dir, plan.DeliverFiles))
	if got := check(r.dir, plan.DeliverCommit); !strings.HasSuffix(got, "git status shows sub/one, two, sub/new") {
		t.Error(got)
	}
	if got := check(t.TempDir(), plan.DeliverCommit); !strings.HasPrefix(got, "delivery mode commit needs a git repository") {
		t.Error(got)
	}
	if got := check(r.dir, "mail"); got != `unknown delivery_mode "mail"` {
		t.Error(got)
	}
	programs, git := t.TempDir(), testkit.Must(exec.LookPath("git"))
	t.Setenv("PATH", programs)
	testkit.OK(t, os.Symlink(git, filepath.Join(programs, "git")))
	if got := check(r.dir, plan.DeliverPR); !strings.HasPrefix(got, "the program gh, which makes the pull request, is missing") {
		t.Error(got)
	}
	testkit.OK(t, os.WriteFile(filepath.Join(programs, "gh"), []byte("#!/bin/sh\n"), 0o700))
	if got := check(r.dir, plan.DeliverPR); !strings.HasPrefix(got, "delivery mode pr needs a working tree") {
		t.Error(got)
	}
	testkit.OK(t, os.Remove(filepath.Join(r.dir, "..", ".git", "config")))
	if got := check(r.dir, plan.DeliverPR); !strings.HasPrefix(got, "delivery mode pr pushes to origin, which the repository does not have") {
		t.Error(got)
	}
	testkit.OK(t, os.Remove(filepath.Join(programs, "git")))
	if got := check(r.dir, plan.DeliverCommit); !strings.HasPrefix(got, "the program git, which delivery mode commit requires, is missing") {
		t.Error(got)
	}
}
