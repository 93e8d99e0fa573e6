//go:build e2ereal

package e2ereal

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/test/stubmodel"
)

// adapter is an agent that speaks the Agent Client Protocol, in front of a CLI.
type adapter struct {
	provider    string
	cli         CLI
	agent       agent
	executable  string // the environment variable for the path of the CLI
	environment func(t *testing.T, w world, base string) []string
	script      stubmodel.Script
	calls       []string // the tools of the calls that need approval
	output      string
}

// The model requests a write of the result, which is approved. Then it requests a command, which is rejected with a
// reason. The model receives the reason in one more turn. Claude continues its turn after a rejection, Codex ends it.
var adapters = []adapter{
	{
		provider: "acp-claude", cli: ClaudeACP, agent: claude, executable: "CLAUDE_CODE_EXECUTABLE",
		environment: func(_ *testing.T, _ world, base string) []string { return claudeEnvironment(base) },
		script: refusedScript("SUGGESTION MODE",
			stubmodel.Turn{
				Text: "I write the result.", Usage: stubmodel.Usage{Input: 1000, Output: 50, CacheRead: 200},
				ToolCalls: []stubmodel.ToolCall{{Name: "Write", Input: map[string]any{"file_path": "{{result}}", "content": `{"summary": "written"}`}}},
			},
			stubmodel.Turn{
				Text: "I run a command.", Usage: stubmodel.Usage{Input: 1100, Output: 40},
				ToolCalls: []stubmodel.ToolCall{shell("touch stolen")},
			},
			stubmodel.Turn{Text: "I did not.", Usage: stubmodel.Usage{Input: 1200, Output: 20}},
		),
		calls: []string{"Write", "Bash"}, output: "I write the result.\n\nI run a command.\n\nI did not.\n\nI leave it.\n",
	},
	{
		provider: "acp-codex", cli: CodexACP, agent: codex, executable: "CODEX_PATH",
		environment: codexEnvironment,
		script: refusedScript("",
			stubmodel.Turn{
				Text: "I write the result.", Usage: stubmodel.Usage{Input: 1000, Output: 50, CacheRead: 200},
				ToolCalls: []stubmodel.ToolCall{{
					Name: "apply_patch", Custom: true,
					Raw: "*** Begin Patch\n*** Add File: {{result}}\n+{\"summary\": \"written\"}\n*** End Patch\n",
				}},
			},
			stubmodel.Turn{
				Text: "I run a command.", Usage: stubmodel.Usage{Input: 1100, Output: 40},
				ToolCalls: []stubmodel.ToolCall{{Name: "exec_command", Input: map[string]any{
					"cmd": "touch stolen", "sandbox_permissions": "require_escalated", "justification": "May I?",
				}}},
			},
		),
		calls: []string{"edit", "execute"}, output: "I write the result.\n\nI run a command.\n\nI leave it.\n",
	},
}

// refusedScript returns a script of the turns and of one more, in which the agent receives the reason of a rejection.
// side matches requests that are not part of the conversation.
func refusedScript(side string, turns ...stubmodel.Turn) stubmodel.Script {
	last := stubmodel.Turn{
		Expect: &stubmodel.Expect{Prompt: "Some of your requests for permission were refused[^$]*not today"}, Text: "I leave it.",
		Usage: stubmodel.Usage{Input: 1300, Output: 10},
	}
	return stubmodel.Script{
		Captures: map[string]string{"result": captures["result"]}, Turns: append(turns, last), After: stubmodel.AfterError, SideRE: side,
	}
}

// TestRealACP drives real agents by the Agent Client Protocol, through adapters from npm. Another process answers.
func TestRealACP(t *testing.T) {
	product := builtProduct(t)
	for _, a := range adapters {
		t.Run(a.provider, func(t *testing.T) {
			w, stub := newWorld(t), stubmodel.Start(t)
			check(t, stub.SetScript(scriptName, a.script))
			scenario{agent: agent{CLI{Name: a.provider}, a.agent.model}, policy: "{stage_timeout: 60, retry: {attempts: 1}, approvals: {default: prompt}}"}.lay(t, w)
			w.configure(t, a)
			env := w.environment(w.bin, append(a.environment(t, w, stub.Base(scriptName)), a.executable+"="+cli(t, a.agent.cli))...)
			answer := func(verb string, more ...string) {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), product, append([]string{verb, session}, more...)...)
				cmd.Dir, cmd.Env = w.project, env
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", verb, err, out)
				}
			}
			got := w.run(t, command{
				path: product, args: []string{"pipeline", "scenario", session, "--foreground", "--wait"}, env: env, limit: productLimit,
				started: func(*os.Process) {
					w.await(t, journalFile, `"type":"question_asked"`)
					answer("approve")
					w.await(t, journalFile, `"status":"success"`)
					w.awaitCount(t, journalFile, `"type":"question_asked"`, 2)
					answer("reject", "--feedback", "not today")
				},
			})
			scenario{want: completed}.assertEnd(t, w, got)
			w.assertNoProcess(t)
			w.assertKeyNowhere(t)
			w.assertACP(t, a)
			if faults := stub.Faults(""); faults != nil {
				t.Errorf("unexpected requests:\n%s", strings.Join(faults, "\n"))
			}
			if _, err := os.Stat(filepath.Join(w.project, "stolen")); err == nil {
				t.Error("a rejected call was made")
			}
			if t.Failed() {
				t.Logf("exit code %d, stdout:\n%s\nstderr:\n%s", got.code, got.stdout, got.stderr)
			}
		})
	}
}

// configure writes the path of the adapter into the product's settings.
func (w world) configure(t *testing.T, a adapter) {
	t.Helper()
	dir := filepath.Join(w.home, ".config", "agent-pipelines")
	check(t, os.MkdirAll(dir, 0o755))
	text := "providers:\n  " + a.provider + ":\n    config: {command: [" + cli(t, a.cli) + "]}\n"
	check(t, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o644))
}

// assertACP compares the calls, verdicts, usage and output of the session with the script of the model.
func (w world) assertACP(t *testing.T, a adapter) {
	t.Helper()
	var asked, verdicts []string
	var usage struct {
		Input  int      `json:"input_tokens"`
		Output int      `json:"output_tokens"`
		Cost   *float64 `json:"cost_usd"`
	}
	for line := range strings.Lines(content(t, filepath.Join(w.root, journalFile))) {
		var e struct {
			Type string `json:"type"`
			Data struct {
				Tool     string          `json:"tool"`
				Verdict  string          `json:"verdict"`
				Observed bool            `json:"observed"`
				Usage    json.RawMessage `json:"usage"`
			} `json:"data"`
		}
		check(t, json.Unmarshal([]byte(line), &e))
		if e.Type == "tool_call" && !e.Data.Observed {
			asked, verdicts = append(asked, e.Data.Tool), append(verdicts, e.Data.Verdict)
		}
		if e.Type == "iteration_complete" {
			check(t, json.Unmarshal(e.Data.Usage, &usage))
		}
	}
	if diff := cmp.Diff([][]string{a.calls, {"run", "deny"}}, [][]string{asked, verdicts}); diff != "" {
		t.Errorf("calls and verdicts (-want +got):\n%s", diff)
	}
	input, output := 0, 0
	for _, turn := range a.script.Turns {
		input, output = input+turn.Usage.Input, output+turn.Usage.Output
	}
	if usage.Input != input || usage.Output != output || (usage.Cost != nil) != (a.agent == claude) {
		t.Errorf("usage %+v, want %d in, %d out", usage, input, output)
	}
	w.assertFile(t, filepath.Join(sessionDir, "stage-00-only", "iterations", "001", "output.md"), a.output)
}
