package ci

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// action is the part of action.yml that the test performs.
type action struct {
	Inputs  map[string]struct{ Default string }
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []struct {
			ID, If, Shell, Run, Uses string
			Dir                      string `yaml:"working-directory"`
			Env, With                map[string]string
		}
	}
}

// ended is the end of a job.
type ended struct {
	code    int // exit code of the first step that failed, 0 for none
	output  string
	summary string
	outputs map[string]string
}

// gitHub performs the action in a checkout, as GitHub does, and keeps its artifacts below the world's directory.
func (w *world) gitHub(checkout string, inputs map[string]string) (r ended) {
	w.Helper()
	var a action
	w.document("action.yml", &a)
	steps := map[string]string{} // outputs by "step.name", outcomes by "step"
	value := func(name string) string {
		switch {
		case name == "github.token", name == "github.run_id":
			return "1"
		case strings.HasPrefix(name, "inputs."):
			name = strings.TrimPrefix(name, "inputs.")
			input, known := a.Inputs[name]
			if !known {
				w.Fatalf("no input %s", name)
			}
			if output, given := inputs[name]; given {
				return output
			}
			return input.Default
		case strings.HasPrefix(name, "steps."):
			step, output, _ := strings.Cut(strings.TrimPrefix(name, "steps."), ".outputs.")
			return steps[step+"."+output]
		}
		w.Fatalf("no value %s", name)
		return ""
	}
	filled := func(text string) string {
		return regexp.MustCompile(`\$\{\{ (.*?) \}\}`).ReplaceAllStringFunc(text, func(e string) string {
			for name := range strings.SplitSeq(strings.TrimSpace(e[3:len(e)-2]), " || ") {
				if v := value(name); v != "" {
					return v
				}
			}
			return ""
		})
	}
	temp := w.TempDir()
	r.outputs = map[string]string{}
	for i, s := range a.Runs.Steps {
		id := s.ID
		if id == "" {
			id = strconv.Itoa(i)
		}
		if !w.due(s.If, r.code != 0, steps, value) {
			steps[id] = "skipped"
			continue
		}
		steps[id] = "success"
		switch {
		case strings.HasPrefix(s.Uses, "actions/download-artifact@"):
			if err := os.CopyFS(filled(s.With["path"]), os.DirFS(filepath.Join(w.dir, "artifacts", filled(s.With["name"])))); err != nil {
				steps[id], r.code = "failure", 1
			}
		case strings.HasPrefix(s.Uses, "actions/upload-artifact@"):
			to := filepath.Join(w.dir, "artifacts", filled(s.With["name"]))
			if err := os.RemoveAll(to); err != nil {
				w.Fatal(err)
			}
			if err := os.CopyFS(to, os.DirFS(filled(s.With["path"]))); err != nil {
				w.Fatal(err)
			}
		case s.Uses != "" || s.Shell != "bash":
			w.Fatalf("step %s: %+v", id, s)
		default:
			if strings.Contains(s.Run, "${{") {
				w.Errorf("step %s puts an expression into its script: the value's author controls the script", id)
			}
			env := map[string]string{
				"GITHUB_ACTIONS": "true", "CI": "true", "GITHUB_ACTION_PATH": root, "RUNNER_TEMP": temp, "GITHUB_PATH": filepath.Join(temp, "path"),
				"GITHUB_OUTPUT": filepath.Join(temp, "output-"+id), "GITHUB_STEP_SUMMARY": filepath.Join(temp, "summary"),
			}
			for name, text := range s.Env {
				env[name] = filled(text)
			}
			code, output := w.bash(filepath.Join(checkout, filled(s.Dir)), s.Run, env)
			r.output += output
			if code != 0 {
				steps[id] = "failure"
				if r.code == 0 {
					r.code = code
				}
			}
			maps.Copy(steps, w.outputs(id, env["GITHUB_OUTPUT"]))
		}
	}
	for name, output := range a.Outputs {
		r.outputs[name] = filled(output.Value)
	}
	summary, err := os.ReadFile(filepath.Join(temp, "summary"))
	if err != nil && !os.IsNotExist(err) {
		w.Fatal(err)
	}
	r.summary = string(summary)
	return r
}

// due reports whether the condition of a step is met. It knows only the forms of conditions in action.yml.
func (w *world) due(condition string, failed bool, steps map[string]string, value func(string) string) bool {
	w.Helper()
	always, rest := false, condition
	if after, is := strings.CutPrefix(condition, "always() && "); is {
		always, rest = true, after
	}
	holds := true
	if rest != "" {
		m := regexp.MustCompile(`^(?:steps\.(\w+)\.outcome|(inputs\.[\w-]+)) (==|!=) '(\w+)'$`).FindStringSubmatch(rest)
		if m == nil {
			w.Fatalf("the test does not know the condition %q", condition)
		}
		got := steps[m[1]]
		if m[2] != "" {
			got = value(m[2])
		}
		holds = (got == m[4]) == (m[3] == "==")
	}
	return holds && (always || !failed)
}

// outputs reads the outputs that a step wrote into GITHUB_OUTPUT, one a line.
func (w *world) outputs(step, file string) map[string]string {
	w.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		w.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, found := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !found || strings.Contains(name, "<<") {
			w.Errorf("step %s writes the output %q", step, line)
		}
		all[step+"."+name] = value
	}
	return all
}

// with returns the inputs and more of them. more holds names and values alternately.
func with(inputs map[string]string, more ...string) map[string]string {
	all := maps.Clone(inputs)
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

// TestGitHubPausesAndResumes asks a question in one job, rejects in a second and approves in a third. Each job has a
// fresh clone in another directory.
func TestGitHubPausesAndResumes(t *testing.T) {
	w := newWorld(t, ".")
	run := map[string]string{"session": "s", "pipeline": "review", "request": "a \"login\" page\n$(touch pwned)", "args": "--model=m\n--timeout=600"}
	first := w.gitHub(w.checkout(good), run)
	question := first.outputs["question"]
	if first.code != 0 || first.outputs["status"] != "paused" || first.outputs["exit_code"] != "0" || question == "" {
		t.Fatalf("%+v", first)
	}
	for _, want := range []string{"### s waits for an answer", "Is the plan good?", "agent-pipelines approve s " + question} {
		if !strings.Contains(first.summary, want) {
			t.Errorf("no %q in the summary:\n%s", want, first.summary)
		}
	}
	if strings.Contains(first.output, "\n::error::the plan") || !strings.Contains(first.output, "::notice title=session 's' waits for an answer::") {
		t.Errorf("the log:\n%s", first.output)
	}

	second := w.gitHub(w.checkout(good), map[string]string{"session": "s", "resume": "true", "answer": "reject", "text": "name the risks"})
	if second.code != 0 || second.outputs["status"] != "paused" || second.outputs["question"] == question {
		t.Fatalf("%+v", second)
	}
	w.has(w.dir, "requests.jsonl", "name the risks")
	w.has(w.dir, "requests.jsonl", `a \"login\" page\n$(touch pwned)`)

	dir := w.checkout(good)
	third := w.gitHub(dir, map[string]string{"session": "s", "resume": "true", "answer": "approve", "question": second.outputs["question"]})
	if third.code != 0 || third.outputs["status"] != "completed" || third.outputs["question"] != "" {
		t.Fatalf("%+v", third)
	}
	w.has(dir, "docs/plan.md", "the plan") // changes of an earlier job
	w.has(dir, ".claude/pipeline-runs/s/state.json", `"completed"`)
	w.lacks(dir, "pwned")
}

// TestGitHubFailsAndResumes checks that a failed job keeps its session and that a later job resumes it.
func TestGitHubFailsAndResumes(t *testing.T) {
	w := newWorld(t, ".")
	run := map[string]string{"session": "s", "stage": "work", "args": "--provider=mock"}
	first := w.gitHub(w.checkout(failing), run)
	if first.code != 1 || first.outputs["status"] != "failed" || first.outputs["exit_code"] != "1" {
		t.Fatalf("%+v", first)
	}
	second := w.gitHub(w.checkout(good), map[string]string{"session": "s", "resume": "true"})
	if second.code != 0 || second.outputs["status"] != "completed" {
		t.Errorf("%+v", second)
	}
	third := w.gitHub(w.checkout(good), map[string]string{"session": "s", "resume": "true"})
	if third.code != 15 || third.outputs["exit_code"] != "15" || third.outputs["status"] != "completed" {
		t.Errorf("%+v", third)
	}
}

// TestGitHubBelowTheRoot checks a project below the root of its repository. Changes elsewhere in the repository are
// kept, too.
func TestGitHubBelowTheRoot(t *testing.T) {
	w := newWorld(t, "app")
	place := map[string]string{"session": "s", "working-directory": "app"}
	dir := w.checkout(good)
	w.write("job1/beside.txt", "beside\n")
	if r := w.gitHub(dir, with(place, "pipeline", "review")); r.outputs["status"] != "paused" {
		t.Fatalf("%+v", r)
	}
	dir = w.checkout(good)
	if r := w.gitHub(dir, with(place, "resume", "true", "answer", "approve")); r.code != 0 || r.outputs["status"] != "completed" {
		t.Errorf("%+v", r)
	}
	w.has(dir, "app/docs/plan.md", "the plan")
	w.has(dir, "beside.txt", "beside")
}

// TestGitHubRefusals checks that an impossible request is reported, ends the job with the command's exit code, and does
// not damage a kept session.
func TestGitHubRefusals(t *testing.T) {
	w := newWorld(t, ".")
	for name, test := range map[string]struct {
		inputs map[string]string
		code   int
		output string
	}{
		"no such pipeline": {map[string]string{"session": "x", "pipeline": "nosuch"}, 3, "nosuch"},
		"nothing named":    {map[string]string{"session": "x"}, 2, "neither a pipeline nor a stage"},
		"a bad name":       {map[string]string{"session": "a b\nc=d", "pipeline": "review"}, 2, "needs a name of letters"},
		"nothing kept":     {map[string]string{"session": "never", "resume": "true"}, 1, ""},
	} {
		if r := w.gitHub(w.checkout(good), test.inputs); r.code != test.code || !strings.Contains(r.output, test.output) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	run := map[string]string{"session": "s", "pipeline": "review"}
	if r := w.gitHub(w.checkout(good), run); r.outputs["status"] != "paused" {
		t.Fatalf("%+v", r)
	}
	resume := map[string]string{"session": "s", "resume": "true", "answer": "approve"}
	if r := w.gitHub(w.checkout(good), with(resume, "answer", "perhaps")); r.code != 2 || r.outputs["status"] != "paused" {
		t.Errorf("%+v", r)
	}

	// The clone lacks the commit at which the session began: nothing is resumed, and the kept session stays.
	w.git("origin", "commit", "--quiet", "--allow-empty", "--message=two")
	if r := w.gitHub(w.checkout(good, "--depth=1"), resume); r.code != 14 || !strings.Contains(r.output, "fetch-depth: 0") {
		t.Errorf("%+v", r)
	}
	if r := w.gitHub(w.checkout(good), resume); r.code != 0 || r.outputs["status"] != "completed" {
		t.Errorf("%+v", r)
	}

	// The plan names the file of --input by its path in the first clone, which does not exist in the next job.
	run = map[string]string{"session": "i", "pipeline": "review", "args": "--input=a.txt"}
	if r := w.gitHub(w.checkout(good), run); r.outputs["status"] != "paused" {
		t.Fatalf("%+v", r)
	}
	if r := w.gitHub(w.checkout(good), with(resume, "session", "i")); r.code != 14 || !strings.Contains(r.output, "at the same path") {
		t.Errorf("%+v", r)
	}
}

// TestPage checks that docs/ci.md names every input and output of action.yml, and every script in ci.
func TestPage(t *testing.T) {
	w := &world{T: t}
	var a action
	w.document("action.yml", &a)
	page, err := os.ReadFile(filepath.Join(root, "docs/ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob(filepath.Join(root, "ci", "*.sh"))
	if err != nil || len(scripts) == 0 || len(a.Inputs) == 0 {
		t.Fatal(err, a)
	}
	var names []string
	for name := range a.Inputs {
		names = append(names, name)
	}
	for name := range a.Outputs {
		names = append(names, name)
	}
	for _, script := range scripts {
		names = append(names, filepath.Base(script))
	}
	for _, name := range names {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/ci.md does not name %s", name)
		}
	}
}
