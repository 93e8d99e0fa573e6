package e2ereal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/test/stubmodel"
)

// scenario is one course of a session of the product with an agent CLI. The same table is run with the
// real CLIs, answered by the stub model server, and with fakes that replay recorded calls. So both must
// behave alike.
type scenario struct {
	// name is also the folder of the recorded calls, below that of the agent.
	name  string
	agent agent
	// letter runs the two stages of testdata/projects/letter, with the script of that name; without it
	// the project has one stage and that policy, and script has the service's answers.
	letter bool
	policy string // YAML
	script stubmodel.Script
	// project, if set, is the folder of testdata/projects that the session runs in, with its own pipelines;
	// args are the command's arguments, by default the ones that run the pipeline "scenario".
	project string
	args    []string
	// second, if set, is a second agent in the same session, with its own script.
	second *second
	// act, if set, is what happens once the agent waits for an answer of the service that does not come.
	act func(t *testing.T, r running)
	// smoke marks the few that are run where there is little time.
	smoke bool
	want  want
	// check makes further checks. May be nil.
	check func(t *testing.T, w world)
}

// agent is a CLI and its settings in the product.
type agent struct {
	cli   CLI
	model string
}

// second is an agent next to that of the scenario.
type second struct {
	agent  agent
	script stubmodel.Script
}

// agents are all that the scenario has.
func (s scenario) agents() []agent {
	if s.second == nil {
		return []agent{s.agent}
	}
	return []agent{s.agent, s.second.agent}
}

// want is the result for a user, and for a program that reads the session's files.
type want struct {
	exit   int
	status string // in state.json; completed where nothing is said
	pause  string // pause_kind
	// The rest is about the failure of an attempt, the last one of the first stage that failed; errorType
	// is empty where there was none.
	errorType       string
	message, remedy string // regular expressions
	retryable       bool
	attempts        int
}

// driver puts an agent CLI into a world: a real one, or a fake.
type driver interface {
	// environment is that of the product.
	environment(t *testing.T, w world, s scenario) []string
	// waiting returns when the agent waits for an answer that does not come.
	waiting(t *testing.T, w world, s scenario)
	// agentPID is the agent that runs now.
	agentPID(t *testing.T, w world, s scenario) int
	// finish says what else must hold in the end.
	finish(t *testing.T, w world, s scenario)
}

// running is a product at work.
type running struct {
	world    world
	driver   driver
	scenario scenario
	product  *os.Process
}

const (
	session = "demo"
	// sessionDir is where the command keeps it, seen from the project.
	sessionDir = ".claude/pipeline-runs/" + session
	// journalFile is the session's journal, seen from the root of the world.
	journalFile   = "project/" + sessionDir + "/events.jsonl"
	resumeCommand = "agent-pipelines resume " + session
	// productLimit ends a test that hangs; every scenario has its own, shorter limits in its policy.
	productLimit = 2 * time.Minute
)

// play runs a scenario to its end and checks all its files.
func (s scenario) play(t *testing.T, product string, d driver) {
	w := newWorld(t)
	s.lay(t, w)
	env := d.environment(t, w, s)
	c := command{
		path: product, args: s.arguments(), env: env, limit: productLimit,
	}
	if s.act != nil {
		c.started = func(p *os.Process) {
			d.waiting(t, w, s)
			s.act(t, running{world: w, driver: d, scenario: s, product: p})
		}
	}
	got := w.run(t, c)
	s.assertEnd(t, w, got)
	w.assertNoProcess(t)
	w.assertKeyNowhere(t)
	if s.want.exit == crashed {
		got = s.resume(t, w, product, env)
	}
	if s.check != nil {
		s.check(t, w)
	}
	d.finish(t, w, s)
	if t.Failed() {
		t.Logf("exit code %d, stdout:\n%s\nstderr:\n%s", got.code, got.stdout, got.stderr)
	}
}

func (s scenario) arguments() []string {
	if s.args != nil {
		return s.args
	}
	return []string{"pipeline", "scenario", session, "--foreground"}
}

// crashed is the exit code of a product that was killed.
const crashed = -1

// resume resumes a session whose product was killed.
func (s scenario) resume(t *testing.T, w world, product string, env []string) outcome {
	t.Helper()
	got := w.run(t, command{path: product, args: []string{"resume", session}, env: env, limit: productLimit})
	scenario{want: completed}.assertEnd(t, w, got)
	w.assertNoProcess(t)
	w.assertKeyNowhere(t)
	return got
}

// lay writes the project. The pipeline is always called "scenario".
func (s scenario) lay(t *testing.T, w world) {
	t.Helper()
	if s.project != "" {
		check(t, os.CopyFS(w.project, os.DirFS("testdata/projects/"+s.project)))
		return
	}
	nodes := "  - id: only\n    prompt: |\n      Do what is to be done.\n      Result file: ${RESULT}\n"
	if s.letter {
		check(t, os.CopyFS(w.project, os.DirFS("testdata/projects/letter")))
		nodes = "  - {id: greet, stage: greet}\n  - {id: check, stage: check, inputs: {from: greet}}\n"
	}
	text := fmt.Sprintf("name: scenario\ndefaults: {provider: %s, model: %s}\n", s.agent.cli.Name, s.agent.model)
	if s.policy != "" {
		text += "policy: " + s.policy + "\n"
	}
	dir := filepath.Join(w.project, ".claude", "pipelines")
	check(t, os.MkdirAll(dir, 0o755))
	check(t, os.WriteFile(filepath.Join(dir, "scenario.yaml"), []byte(text+"nodes:\n"+nodes), 0o644))
}

// assertEnd compares the product's output and files with the wanted ones.
func (s scenario) assertEnd(t *testing.T, w world, got outcome) {
	t.Helper()
	if got.code != s.want.exit {
		t.Errorf("exit code %d, want %d", got.code, s.want.exit)
	}
	if s.want.exit == crashed {
		return
	}
	var state struct {
		Status    string `json:"status"`
		PauseKind string `json:"pause_kind"`
		ErrorType string `json:"error_type"`
	}
	readJSON(t, filepath.Join(w.project, sessionDir, "state.json"), &state)
	if state.Status != s.want.status || state.PauseKind != s.want.pause {
		t.Errorf("state.json: status %q, pause_kind %q; want %q, %q", state.Status, state.PauseKind, s.want.status, s.want.pause)
	}
	if s.want.status == "failed" && state.ErrorType != s.want.errorType {
		t.Errorf("state.json: error_type %q, want %q", state.ErrorType, s.want.errorType)
	}
	if s.want.status != "completed" && !regexp.MustCompile(`(?m)^To resume: `+resumeCommand+`$`).MatchString(got.stdout) {
		t.Errorf("stdout does not say how to resume")
	}
	s.assertFailure(t, w)
}

// assertFailure checks the failed attempts of the iteration, if there were any.
func (s scenario) assertFailure(t *testing.T, w world) {
	t.Helper()
	iteration := filepath.Join(w.project, sessionDir, "stage-00-only", "iterations", "001")
	if s.want.errorType == "" {
		if found, err := filepath.Glob(filepath.Join(w.project, sessionDir, "*", "iterations", "*", "error.json")); err != nil || found != nil {
			t.Errorf("unexpected %v, error %v", found, err)
		}
		return
	}
	var fault struct {
		ErrorType     string `json:"error_type"`
		Message       string `json:"message"`
		Remedy        string `json:"remedy"`
		Retryable     bool   `json:"retryable"`
		Attempt       int    `json:"attempt"`
		ResumeCommand string `json:"resume_command"`
	}
	readJSON(t, filepath.Join(iteration, "error.json"), &fault)
	found := want{
		exit: s.want.exit, status: s.want.status, pause: s.want.pause,
		errorType: fault.ErrorType, message: s.want.message, remedy: s.want.remedy, retryable: fault.Retryable, attempts: fault.Attempt,
	}
	if diff := cmp.Diff(s.want, found, cmp.AllowUnexported(want{})); diff != "" {
		t.Errorf("error.json (-want +got):\n%s", diff)
	}
	for name, texts := range map[string][2]string{"message": {s.want.message, fault.Message}, "remedy": {s.want.remedy, fault.Remedy}} {
		if !regexp.MustCompile(texts[0]).MatchString(texts[1]) {
			t.Errorf("error.json: %s is %q, want one like %q", name, texts[1], texts[0])
		}
	}
	if fault.ResumeCommand != resumeCommand {
		t.Errorf("error.json: resume_command %q, want %q", fault.ResumeCommand, resumeCommand)
	}
	if made := w.attempts(t, iteration); made != s.want.attempts {
		t.Errorf("attempts.jsonl: %d attempts, want %d", made, s.want.attempts)
	}
}

// The acts.

// killProduct is kill -9.
func killProduct(t *testing.T, r running) { sendTo(t, r.product.Pid, syscall.SIGKILL) }

// killInBlock is kill -9 once a provider of the block is done; the block, whose other provider is at work,
// has no manifest yet.
func killInBlock(node int, done, block string) func(*testing.T, running) {
	return func(t *testing.T, r running) {
		r.world.await(t, journalFile, fmt.Sprintf(
			`"type":"parallel_provider_complete","session":%q,"cursor":{"node_path":"%d","node_run":1,"iteration":0,"provider":%q}`, session, node, done))
		if _, err := os.Stat(filepath.Join(r.world.project, sessionDir, block, "manifest.json")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s has a manifest while a provider is at work (error %v)", block, err)
		}
		killProduct(t, r)
	}
}

// terminateProduct asks twice: the first time the product would wait for the agent to finish.
func terminateProduct(t *testing.T, r running) {
	sendTo(t, r.product.Pid, syscall.SIGTERM)
	r.world.await(t, "stderr", "SIGTERM: finishing the iteration")
	sendTo(t, r.product.Pid, syscall.SIGTERM)
}

// signalAgent sends to the agent itself.
func signalAgent(s syscall.Signal) func(*testing.T, running) {
	return func(t *testing.T, r running) { sendTo(t, r.driver.agentPID(t, r.world, r.scenario), s) }
}

func sendTo(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Errorf("send %s to process %d: %v", s, pid, err)
	}
}
