//go:build e2ereal

package e2ereal

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/test/stubmodel"
)

var (
	recordCalls = flag.Bool("record", false, "write what the CLIs do in the scenarios into testdata/calls, scrubbed")
	smoke       = flag.Bool("smoke", false, "run only the few scenarios that show that the CLIs work at all")
)

// TestReal runs every scenario with the real CLIs.
func TestReal(t *testing.T) {
	product := builtProduct(t)
	chosen := scenarios()
	if *smoke {
		chosen = slices.DeleteFunc(chosen, func(s scenario) bool { return !s.smoke })
	}
	for _, s := range chosen {
		t.Run(s.agent.cli.Name+"/"+s.name, func(t *testing.T) {
			s.play(t, product, &realDriver{stub: stubmodel.Start(t), scripts: map[string]stubmodel.Script{}})
		})
	}
}

// builtProduct returns the path of the command under test: AGENT_PIPELINES_BIN, else bin of the repository.
func builtProduct(t *testing.T) string {
	t.Helper()
	path := os.Getenv("AGENT_PIPELINES_BIN")
	if path == "" {
		path = filepath.Join("..", "..", "bin", "agent-pipelines")
	}
	path = must(filepath.Abs(path))
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: build it (make build) or set AGENT_PIPELINES_BIN", err)
	}
	return path
}

// realDriver lets the real CLI talk to a stub model server.
type realDriver struct {
	stub    *stubmodel.Server
	scripts map[string]stubmodel.Script // the script for each agent, by the script's name
}

// The names of the scripts: of the scenario's own agent, and of the second one.
const (
	scriptName = "scenario"
	besideName = "beside"
)

func (d *realDriver) environment(t *testing.T, w world, s scenario) []string {
	t.Helper()
	script := s.script
	if s.letter {
		script = letterScript(t, w, s)
	}
	env := d.serve(t, w, s.agent, scriptName, script)
	if s.second != nil {
		env = append(env, d.serve(t, w, s.second.agent, besideName, s.second.script)...)
	}
	var paths, folders []string
	for _, a := range s.agents() {
		path := cli(t, a.cli)
		paths, folders = append(paths, path), append(folders, filepath.Dir(path))
	}
	if !*recordCalls {
		return w.environment(strings.Join(folders, string(os.PathListSeparator)), env...)
	}
	return w.environment(w.installFake(t, s), append(env, w.recording(t, s, paths)...)...)
}

// serve makes the stub answer an agent by a script. It returns the environment variables that direct the agent to the
// stub.
func (d *realDriver) serve(t *testing.T, w world, a agent, name string, script stubmodel.Script) []string {
	t.Helper()
	check(t, d.stub.SetScript(name, script))
	d.scripts[name] = script
	if a == codex {
		return codexEnvironment(t, w, d.stub.Base(name))
	}
	return claudeEnvironment(d.stub.Base(name))
}

// letterScript returns the script of the two stages. In a scenario with a kill, the service stops answering once, in
// the middle of the second stage.
func letterScript(t *testing.T, w world, s scenario) stubmodel.Script {
	t.Helper()
	text := must(os.ReadFile("testdata/scripts/" + s.agent.cli.Name + ".json"))
	script := must(stubmodel.Parse(text))
	script.Vars["project"] = w.project
	if s.act != nil {
		second := slices.IndexFunc(script.Turns, func(turn stubmodel.Turn) bool {
			return turn.Expect != nil && strings.HasPrefix(turn.Expect.Prompt, "Check")
		})
		script.Turns = slices.Insert(script.Turns, second+1, hang)
		// after the resume the stage starts over
		script.Turns = slices.Insert(script.Turns, second+2, script.Turns[second])
	}
	return script
}

// claudeEnvironment returns the additional environment variables of Claude Code. IS_SANDBOX=1 permits it to skip
// permissions as root, the user in containers. That is safe here, because a script determines the commands.
func claudeEnvironment(base string, more ...string) []string {
	return append([]string{
		"ANTHROPIC_BASE_URL=" + base, "ANTHROPIC_API_KEY=" + apiKey,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1",
	}, more...)
}

// codexEnvironment writes Codex's configuration, the only place for another service, and returns its environment
// variables.
func codexEnvironment(t *testing.T, w world, base string) []string {
	t.Helper()
	text := must(os.ReadFile("testdata/codex.toml"))
	home := filepath.Join(w.home, ".codex")
	check(t, os.Mkdir(home, 0o755))
	filled := strings.ReplaceAll(string(text), "BASE_URL", base+"/v1")
	check(t, os.WriteFile(filepath.Join(home, "config.toml"), []byte(filled), 0o644))
	return []string{"CODEX_HOME=" + home, "OPENAI_API_KEY=" + apiKey}
}

// waiting returns when an agent has requested a turn that hangs.
func (d *realDriver) waiting(t *testing.T, _ world, _ scenario) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !d.silent() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for a turn that hangs, after %d requests", len(d.stub.Requests("")))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// silent reports whether an agent has requested a turn that hangs.
func (d *realDriver) silent() bool {
	for name, script := range d.scripts {
		hangs := slices.IndexFunc(script.Turns, func(turn stubmodel.Turn) bool { return turn.Hang }) + 1
		if hangs > 0 && slices.ContainsFunc(d.stub.Requests(name), func(r stubmodel.Request) bool { return r.Turn == hangs }) {
			return true
		}
	}
	return false
}

// agentPID returns the lowest process ID of the world's processes that are named after the agent.
func (d *realDriver) agentPID(t *testing.T, w world, s scenario) int {
	t.Helper()
	all := must(Processes(w.root))
	found := 0
	for _, process := range all {
		fields := strings.Fields(process)
		pid, err := strconv.Atoi(fields[0])
		if err == nil && filepath.Base(fields[1]) == s.agent.cli.Name && (found == 0 || pid < found) {
			found = pid
		}
	}
	if found == 0 {
		t.Fatalf("no process of %s among %q", s.agent.cli.Name, all)
	}
	return found
}

// finish checks that the agents made no unexpected requests, and that a letter or a whole session used all turns.
func (d *realDriver) finish(t *testing.T, w world, s scenario) {
	t.Helper()
	if faults := d.stub.Faults(""); faults != nil {
		t.Errorf("unexpected requests:\n%s", strings.Join(faults, "\n"))
	}
	if s.letter {
		d.assertAsked(t, s)
	}
	if s.project != "" {
		for name, script := range d.scripts {
			d.assertUsedUp(t, name, len(script.Turns))
		}
	}
	if *recordCalls && !t.Failed() {
		w.keep(t, s, strings.TrimPrefix(d.stub.URL(), "http://"))
	}
}

// assertUsedUp checks that every turn of a script was used once and in order.
func (d *realDriver) assertUsedUp(t *testing.T, name string, turns int) {
	t.Helper()
	var got, want []int
	for _, r := range d.stub.Requests(name) {
		if r.Turn > 0 {
			got = append(got, r.Turn)
		}
	}
	for n := range turns {
		want = append(want, n+1)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turns of the script %s that were used (-want +got):\n%s", name, diff)
	}
}

// assertAsked checks that every turn was used once and in order, with the key, and that each stage's prompt was sent.
// The script itself checks the other contents of a request.
func (d *realDriver) assertAsked(t *testing.T, s scenario) {
	t.Helper()
	d.assertUsedUp(t, scriptName, len(d.scripts[scriptName].Turns))
	prompts := ""
	for _, r := range d.stub.Requests(scriptName) {
		if r.Turn == 0 {
			continue
		}
		prompts += r.Prompt
		if key := r.Headers.Get("X-Api-Key") + strings.TrimPrefix(r.Headers.Get("Authorization"), "Bearer "); key != apiKey {
			t.Errorf("request %d: key %q", r.N, key)
		}
	}
	for _, stage := range []string{"greet", "check"} {
		text := content(t, "testdata/projects/letter/.claude/stages/"+stage+"/prompt.md")
		if before, _, _ := strings.Cut(text, "${RESULT}"); !strings.Contains(prompts, before) {
			t.Errorf("stage %s: %s never asked with the prompt:\n%s", stage, s.agent.cli.Name, before)
		}
	}
}
