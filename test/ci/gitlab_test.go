package ci

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// job is the part of a GitLab job that the test performs.
type job struct {
	Extends   string
	When      string
	Variables map[string]string
	Script    []string
	Artifacts struct {
		When  string
		Paths []string
	}
}

// gitLab performs a job of the template in a checkout, with variables, and keeps its artifacts.
func (w *world) gitLab(name, checkout string, variables map[string]string) (code int, output string) {
	w.Helper()
	var jobs map[string]job
	w.document("ci/gitlab/agent-pipelines.gitlab-ci.yml", &jobs)
	base := jobs[".agent-pipelines"]
	env := maps.Clone(base.Variables)
	if name != ".agent-pipelines" {
		if jobs[name].Extends != ".agent-pipelines" || jobs[name].When != "manual" {
			w.Fatalf("%+v", jobs[name])
		}
		maps.Copy(env, jobs[name].Variables)
	}
	maps.Copy(env, variables)
	maps.Copy(env, map[string]string{"CI": "true", "GITLAB_CI": "true", "CI_JOB_ID": "1", "AP_SCRIPTS": filepath.Join(root, "ci")})
	kept := filepath.Join(w.dir, "kept")
	paths := base.Artifacts.Paths
	if base.Artifacts.When != "always" || len(paths) != 1 || paths[0] != env["AP_KEEP"]+"/" {
		w.Fatalf("artifacts %+v", base.Artifacts)
	}
	if _, err := os.Stat(kept); err == nil { // as the keyword needs does: the artifacts of the job before
		if err := os.CopyFS(filepath.Join(checkout, paths[0]), os.DirFS(kept)); err != nil {
			w.Fatal(err)
		}
	}
	code, output = w.bash(checkout, strings.Join(base.Script, "\n"), env)
	if _, err := os.Stat(filepath.Join(checkout, paths[0])); err == nil {
		if err := os.RemoveAll(kept); err != nil {
			w.Fatal(err)
		}
		if err := os.CopyFS(kept, os.DirFS(filepath.Join(checkout, paths[0]))); err != nil {
			w.Fatal(err)
		}
	}
	return code, output
}

// TestGitLab runs three jobs: a session that waits for the user, a resume with the answer that fails, and a resume that
// completes.
func TestGitLab(t *testing.T) {
	w := newWorld(t, ".")
	run := map[string]string{"AP_SESSION": "s", "AP_PIPELINE": "review", "AP_REQUEST": "a login page"}
	if code, output := w.gitLab(".agent-pipelines", w.checkout(good), run); code != 0 || !strings.Contains(output, "agent-pipelines approve s q-") {
		t.Fatalf("exit %d\n%s", code, output)
	}
	answer := map[string]string{"AP_SESSION": "s", "AP_ANSWER": "approve"}
	if code, output := w.gitLab(".agent-pipelines-resume", w.checkout(failing), answer); code != 1 || !strings.Contains(output, "no more") {
		t.Fatalf("exit %d\n%s", code, output)
	}
	dir := w.checkout(good)
	if code, output := w.gitLab(".agent-pipelines-resume", dir, map[string]string{"AP_SESSION": "s"}); code != 0 || !strings.Contains(output, "PIPELINE COMPLETE") {
		t.Fatalf("exit %d\n%s", code, output)
	}
	w.has(dir, "docs/plan.md", "the plan")
}

// TestWorkspaceIsKept checks that changes in the repository are kept, committed or not: changed, removed and new
// files, and another branch. Files that git ignores are not kept.
func TestWorkspaceIsKept(t *testing.T) {
	w := newWorld(t, ".")
	keep := filepath.Join(w.dir, "keep")
	env := map[string]string{"AP_SESSION": "s", "AP_KEEP": keep, "AP_PIPELINE": "review"}
	script := func(dir, before, name string) {
		t.Helper()
		if code, output := w.bash(dir, before+"\nbash '"+filepath.Join(root, "ci", name)+"'", env); code != 0 {
			t.Fatalf("%s: exit %d\n%s", name, code, output)
		}
	}
	dir := w.checkout(good)
	script(dir, "", "run.sh")
	script(dir, `export AP_BASE=$(git rev-parse HEAD)
git checkout -q -b work; echo committed >c.txt; git add c.txt; git commit -q -m c
echo changed >a.txt; git rm -q b.txt; echo new >'d e.txt'; printf '\0\1\377' >binary; ln -s a.txt link; echo x >x.sh; chmod +x x.sh; echo no >ignored`, "pack.sh")
	if code, output := w.bash(dir, `test "$(git status --porcelain | sort | tr '\n' '|')" = ' M a.txt|?? "d e.txt"|?? .claude/pipeline-runs/|?? binary|?? docs/|?? link|?? x.sh|D  b.txt|' || { git status --porcelain; false; }`, nil); code != 0 {
		t.Errorf("packing changes the checkout:\n%s", output)
	}
	dir = w.checkout(good)
	script(dir, "", "restore.sh")
	if code, output := w.bash(dir, `set -x
test "$(git symbolic-ref --short HEAD)" = work
test "$(git log --format=%s | tr '\n' ' ')" = "c one "
test "$(cat a.txt c.txt 'd e.txt' link | tr '\n' ' ')" = "changed committed new changed "
test ! -e b.txt; test ! -e ignored; test -x x.sh; test -L link; test "$(od -An -tx1 binary | tr -d ' \n')" = 0001ff
test -d .claude/pipeline-runs/s; test ! -e .claude/locks/s.lock`, nil); code != 0 {
		t.Error(output)
	}
	if code, output := w.bash(dir, "bash '"+filepath.Join(root, "ci", "restore.sh")+"'", env); code != 14 || !strings.Contains(output, "session 's' exists here already") {
		t.Errorf("over itself: exit %d\n%s", code, output)
	}
	if code, output := w.bash(dir, "rm -r .claude/pipeline-runs; echo mine >c.txt; bash '"+filepath.Join(root, "ci", "restore.sh")+"'", env); code != 14 || !strings.Contains(output, "changes of its own") {
		t.Errorf("exit %d\n%s", code, output)
	}
}

// TestWorkspaceThatCannotBeKept checks that the job and a later restore report a workspace that cannot be kept. The
// session is kept nevertheless. Credential files of a step are not kept, and a restore refuses to replace commits that
// have no other copy.
func TestWorkspaceThatCannotBeKept(t *testing.T) {
	w := newWorld(t, ".")
	keep := filepath.Join(w.dir, "keep")
	env := map[string]string{"AP_SESSION": "s", "AP_KEEP": keep, "AP_PIPELINE": "review"}
	script := func(name string) string { return "bash '" + filepath.Join(root, "ci", name) + "'" }
	dir := w.checkout(good)
	w.write("job1/gha-creds-1.json", "secret")
	if code, output := w.bash(dir, script("run.sh")+"; git init -q nested; "+script("pack.sh"), env); code != 0 || !strings.Contains(output, "could not be kept; the session is") {
		t.Fatalf("exit %d\n%s", code, output)
	}
	w.has(keep, "status", "paused")
	if code, output := w.bash(w.checkout(good), script("restore.sh"), env); code != 14 || !strings.Contains(output, "were not kept") {
		t.Errorf("exit %d\n%s", code, output)
	}
	dir = w.checkout(good)
	if code, output := w.bash(dir, "echo none >'"+keep+"/workspace'; "+script("restore.sh")+"; echo x >gha-creds-2.json; "+script("pack.sh"), env); code != 0 {
		t.Fatalf("exit %d\n%s", code, output)
	}
	dir = w.checkout(good)
	if code, output := w.bash(dir, "git commit -q --allow-empty -m mine; "+script("restore.sh"), env); code != 14 || !strings.Contains(output, "commits that are nowhere else") {
		t.Errorf("exit %d\n%s", code, output)
	}
	dir = w.checkout(good)
	if code, output := w.bash(dir, script("restore.sh"), env); code != 0 {
		t.Errorf("exit %d\n%s", code, output)
	}
	w.lacks(dir, "gha-creds-2.json")
	env["AP_SESSION"] = ".."
	for _, name := range []string{"run.sh", "pack.sh", "restore.sh"} {
		if code, output := w.bash(dir, script(name), env); code != 2 || !strings.Contains(output, "needs a name of letters") {
			t.Errorf("%s: exit %d\n%s", name, code, output)
		}
	}
}

// TestCancelled checks that a session pauses and that its status is recorded, although a cancelled job signals only its
// first process.
func TestCancelled(t *testing.T) {
	w := newWorld(t, ".")
	keep := filepath.Join(w.dir, "keep")
	dir := w.checkout(`{"replies": [{"delay_ms": 3000, "output": "done"}]}`)
	code, output := w.bash(dir, `bash '`+filepath.Join(root, "ci", "run.sh")+`' & p=$!
until grep -qs iteration_start .claude/pipeline-runs/s/events.jsonl; do sleep 0.05; done
kill -TERM $p; wait $p`, map[string]string{"AP_SESSION": "s", "AP_KEEP": keep, "AP_STAGE": "work", "AP_ARGS": "--provider=mock"})
	if code != 0 {
		t.Errorf("exit %d\n%s", code, output)
	}
	w.has(keep, "status", "paused")
}
