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

// scenario describes one session of the product with an agent CLI and its result. The same table is run with the real
// CLIs, which the stub model server answers, and with fakes that replay recorded calls.
type scenario struct {
	// name is also the directory of the recorded calls, below that of the agent.
	name  string
	agent agent
	// letter runs the two stages of testdata/projects/letter, with the agent's script in testdata/scripts. Otherwise
	// the project has one stage with policy, and script has the service's answers.
	letter bool
	policy string // YAML
	script stubmodel.Script
	// project, if set, is the directory in testdata/projects that the session runs in, with its own pipelines. args
	// are the command's arguments; by default they run the pipeline "scenario".
	project string
	args    []string
	// second, if set, is a second agent in the same session, with its own script.
	second *second
	// act, if set, is called when the agent waits for an answer that the service does not send.
	act func(t *testing.T, r running)
	// smoke marks the few scenarios that -smoke runs.
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

// second is a further agent of a scenario.
type second struct {
	agent  agent
	script stubmodel.Script
}

// agents returns all agents of the scenario.
func (s scenario) agents() []agent {
	if s.second == nil {
		return []agent{s.agent}
	}
	return []agent{s.agent, s.second.agent}
}

// want is the result for a user, and for a program that reads the session's files.
type want struct {
	exit   int
	status string // in state.json; not checked if the product was killed
	pause  string // pause_kind
	// The other fields are about the last failed attempt of the stage; errorType is empty if no attempt failed.
	errorType       string
	message, remedy string // regular expressions
	retryable       bool
	attempts        int
}

// driver installs agent CLIs in a world: real ones, or fakes.
type driver interface {
	// environment prepares the world and returns the environment of the product.
	environment(t *testing.T, w world, s scenario) []string
	// waiting returns when the agent waits for an answer that the service does not send.
	waiting(t *testing.T, w world, s scenario)
	// agentPID returns the process ID of the scenario's running agent.
	agentPID(t *testing.T, w world, s scenario) int
	// finish makes the driver's checks after the session.
	finish(t *testing.T, w world, s scenario)
}

// running is a running product and its scenario.
type running struct {
	world    world
	driver   driver
	scenario scenario
	product  *os.Process
}

const (
	session = "demo"
	// sessionDir is the session's directory, relative to the project.
	sessionDir = ".claude/pipeline-runs/" + session
	// journalFile is the session's journal, relative to the root of the world.
	journalFile   = "project/" + sessionDir + "/events.jsonl"
	resumeCommand = "agent-pipelines resume " + session
	// productLimit is the limit of a run of the product. It only ends a test that hangs.
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

// assertEnd compares the product's exit code, output and files with want.
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

// assertFailure checks the failed attempts of the first iteration. Without a wanted failure no iteration may have one.
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

// The values of scenario.act.

// killProduct kills the product with SIGKILL.
func killProduct(t *testing.T, r running) { sendTo(t, r.product.Pid, syscall.SIGKILL) }

// killInBlock returns an act that kills the product after one provider of the block is done. The other provider
// works, so the block has no manifest yet.
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

// terminateProduct sends SIGTERM twice. After the first signal alone the product waits for the agent to finish.
func terminateProduct(t *testing.T, r running) {
	sendTo(t, r.product.Pid, syscall.SIGTERM)
	r.world.await(t, "stderr", "SIGTERM: finishing the iteration")
	sendTo(t, r.product.Pid, syscall.SIGTERM)
}

// signalAgent returns an act that sends a signal to the agent itself.
func signalAgent(s syscall.Signal) func(*testing.T, running) {
	return func(t *testing.T, r running) { sendTo(t, r.driver.agentPID(t, r.world, r.scenario), s) }
}

func sendTo(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Errorf("send %s to process %d: %v", s, pid, err)
	}
}
