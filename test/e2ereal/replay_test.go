package e2ereal

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestReplay runs every scenario with fakes that repeat the recorded actions of the real CLIs (testdata/calls): their
// output, the files that they wrote, and their end.
func TestReplay(t *testing.T) {
	product := buildProduct(t)
	for _, s := range scenarios() {
		t.Run(s.agent.cli.Name+"/"+s.name, func(t *testing.T) {
			t.Parallel()
			s.play(t, product, replayDriver{})
		})
	}
}

// buildProduct builds the command and its plugins from the workspace that this test is part of.
func buildProduct(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := BuildPrograms(dir, map[string]string{
		"agent-pipelines": "./cmd/agent-pipelines", "plugins/agent-plugin-claude": "./plugins/claude", "plugins/agent-plugin-codex": "./plugins/codex",
	}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "agent-pipelines")
}

// replayDriver replaces the CLI by a fake.
type replayDriver struct{}

// callsDir returns the directory of the recorded calls of an agent in a scenario.
func (s scenario) callsDir(t *testing.T, a agent) string {
	t.Helper()
	return s.cliCalls(t, a.cli.Name)
}

// cliCalls returns the directory of the recorded calls of a CLI, named by its name or "*".
func (s scenario) cliCalls(t *testing.T, cli string) string {
	t.Helper()
	dir := must(filepath.Abs(filepath.Join("testdata", "calls", cli, s.name)))
	return dir
}

func (replayDriver) environment(t *testing.T, w world, s scenario) []string {
	t.Helper()
	return w.environment(w.installFake(t, s), CallsVariable+"="+s.cliCalls(t, "*"), NotesVariable+"="+filepath.Join(w.notes, "*"))
}

// installFake links this program under the CLIs' names into the world and returns the directory of the links.
func (w world) installFake(t *testing.T, s scenario) string {
	t.Helper()
	self := must(os.Executable())
	for _, a := range s.agents() {
		err := errors.Join(os.Symlink(self, filepath.Join(w.bin, a.cli.Name)), os.Mkdir(filepath.Join(w.notes, a.cli.Name), 0o755))
		check(t, err)
	}
	return w.bin
}

// waiting returns when the replay of a call that was recorded as waiting waits.
func (replayDriver) waiting(t *testing.T, w world, s scenario) {
	t.Helper()
	for _, a := range s.agents() {
		if n := s.waitingCall(t, a); n > 0 {
			w.await(t, filepath.Join("notes", a.cli.Name, strconv.Itoa(n)+".waiting"), "")
			return
		}
	}
	t.Fatal("none of the recorded calls waits")
}

// waitingCall returns the number of the first recorded call of an agent that waits, 0 if there is none.
func (s scenario) waitingCall(t *testing.T, a agent) int {
	t.Helper()
	calls := must(Calls(s.callsDir(t, a)))
	for n := 1; n <= calls; n++ {
		call := must(LoadCall(s.callsDir(t, a), n))
		if call.Waits {
			return n
		}
	}
	return 0
}

func (replayDriver) agentPID(t *testing.T, w world, s scenario) int {
	t.Helper()
	pid := must(strconv.Atoi(strings.TrimSpace(content(t, filepath.Join(w.notes, s.agent.cli.Name, "1.pid")))))
	return pid
}

// finish checks that the product called each CLI as often as it called the real one.
func (replayDriver) finish(t *testing.T, w world, s scenario) {
	t.Helper()
	for _, a := range s.agents() {
		made := must(filepath.Glob(filepath.Join(w.notes, a.cli.Name, "*.pid")))
		recorded := must(Calls(s.callsDir(t, a)))
		if len(made) != recorded || recorded == 0 {
			t.Errorf("%s was called %d times, %d calls were recorded", a.cli.Name, len(made), recorded)
		}
	}
}
