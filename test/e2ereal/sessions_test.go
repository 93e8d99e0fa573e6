package e2ereal

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/test/stubmodel"
)

// sessionScenarios are whole sessions of several iterations, stages and agents (U310). In their projects
// the prompts name the file for the context as they name that for the result, and a real agent reads what
// others left by it.
var sessionScenarios = []scenario{
	{
		name: "ralph", agent: claude, project: "ralph", script: ralphScript(shell), want: completed, check: ralphDone,
		args: []string{"ralph", session, "3", "--foreground", "--provider=claude", "--model=sonnet"},
	},
	{
		name: "ralph", agent: codex, project: "ralph", script: ralphScript(execCommand), want: completed, check: ralphDone,
		args: []string{"ralph", session, "3", "--foreground", "--provider=codex", "--model=gpt-5.5"},
	},
	{name: "refine", agent: claude, project: "refine", script: refineScript, want: completed, check: refined},
	{name: "judged", agent: claude, project: "judged", script: judgedScript, want: completed, check: judged},
	{
		name: "debate", agent: claude, project: "debate", script: debateOfClaude, beside: &beside{codex, debateOfCodex},
		want: completed, check: debated,
	},
}

// captures are the paths that only a prompt knows.
var captures = map[string]string{"result": `(?m)^Result file: (.+)$`, "context": `(?m)^Context file: (.+)$`}

// shell is how Claude Code runs a command, execCommand how Codex does.
func shell(command string) stubmodel.ToolCall {
	return stubmodel.ToolCall{Name: "Bash", Input: map[string]any{"command": command, "description": "Run a command"}}
}

func execCommand(command string) stubmodel.ToolCall {
	return stubmodel.ToolCall{Name: "exec_command", Input: map[string]any{"cmd": command}}
}

type tool func(command string) stubmodel.ToolCall

// task is the work of one iteration in turns: a command, if there is one, whose output must match a
// pattern; the result; a last word, which is the output.
func task(run tool, model, prompt, command, sees, word string) []stubmodel.Turn {
	result := `printf %s '{"summary": "` + word + `"}' > '{{result}}'`
	ask := &stubmodel.Expect{Model: model, Prompt: prompt}
	if command == "" {
		return []stubmodel.Turn{{Expect: ask, ToolCalls: []stubmodel.ToolCall{run(result)}}, {Text: word}}
	}
	return []stubmodel.Turn{
		{Expect: ask, ToolCalls: []stubmodel.ToolCall{run(command)}},
		{Expect: &stubmodel.Expect{ToolResult: sees}, ToolCalls: []stubmodel.ToolCall{run(result)}},
		{Text: word},
	}
}

func turns(tasks ...[]stubmodel.Turn) stubmodel.Script {
	return stubmodel.Script{Captures: captures, Turns: slices.Concat(tasks...), After: stubmodel.AfterError}
}

func ralphScript(run tool) stubmodel.Script {
	var tasks [][]stubmodel.Turn
	for n := 1; n <= 3; n++ {
		tasks = append(tasks, task(run, "", fmt.Sprintf("This is iteration %d\\.", n),
			fmt.Sprintf("echo 'thing %d' >> done.txt && wc -l < done.txt", n), fmt.Sprint(n), fmt.Sprintf("Thing %d is done.", n)))
	}
	s := turns(tasks...)
	s.Captures = map[string]string{"result": captures["result"]}
	return s
}

// outputsIn is a command that prints the outputs whose paths stand in the context and match a pattern.
func outputsIn(pattern string) string {
	return `grep -o '/[^"]*` + pattern + `[^"]*/output\.md' '{{context}}' | sort -u | while read -r f; do cat "$f"; done`
}

const (
	sonnet = "^claude-sonnet-"
	haiku  = "^claude-haiku-"
	gpt    = `^gpt-5\.5$`
)

var refineScript = turns(
	task(shell, sonnet, "for the 1. time", "", "", "A plan of one step."),
	task(shell, sonnet, "for the 2. time", outputsIn("stage-00-improve/iterations/001"), `^A plan of one step\.\s*$`, "A plan of two steps."),
	task(shell, sonnet, "Make tasks", outputsIn("stage-00-improve"), `^A plan of one step\.\s+A plan of two steps\.\s*$`, "Two tasks."),
)

// judgment is what the judge's model answers.
func judgment(iteration int, saw, answer string) []stubmodel.Turn {
	return []stubmodel.Turn{{
		Expect: &stubmodel.Expect{Model: haiku, Prompt: fmt.Sprintf(`(?s)polish is done after iteration %d\..*%s`, iteration, saw)}, Text: answer,
	}}
}

// judgedScript: the judge is content once, then not, then twice in a row.
var judgedScript = turns(
	task(shell, sonnet, "for the 1. time", "", "", "Shorter."),
	judgment(1, "Shorter", `{"stop": true, "reason": "It is short.", "confidence": 0.6}`),
	task(shell, sonnet, "for the 2. time", "", "", "Clearer."),
	judgment(2, "Clearer", "```json\n{\"stop\": false, \"reason\": \"It can be clearer.\", \"confidence\": 0.7}\n```"),
	task(shell, sonnet, "for the 3. time", "", "", "Clear."),
	judgment(3, "Clear", `{"stop": true, "reason": "It is clear.", "confidence": 0.8}`),
	task(shell, sonnet, "for the 4. time", "", "", "Still clear."),
	judgment(4, "Still clear", `{"stop": true, "reason": "Nothing is left.", "confidence": 0.9}`),
)

var (
	debateOfClaude = turns(
		task(shell, sonnet, "Say what you think", "", "", "Claude likes tabs."),
		task(shell, sonnet, "Read what the other one thinks", outputsIn("/providers/.*/stage-00-thought"), `^Codex likes spaces\.\s*$`, "Claude stays with tabs."),
		task(shell, sonnet, "sum it up", outputsIn("/providers/"),
			`^Claude likes tabs\.\s+Codex likes spaces\.\s+Claude stays with tabs\.\s+Codex gives in\.\s*$`, "Tabs it is."),
	)
	debateOfCodex = turns(
		task(execCommand, gpt, "Say what you think", "", "", "Codex likes spaces."),
		task(execCommand, gpt, "Read what the other one thinks", outputsIn("/providers/.*/stage-00-thought"), `Claude likes tabs\.\s*$`, "Codex gives in."),
	)
)

// What the sessions leave.

func ralphDone(t *testing.T, w world) {
	t.Helper()
	w.assertFile(t, "done.txt", "thing 1\nthing 2\nthing 3\n")
	w.assertOutputs(t, map[string]string{
		"stage-00-ralph/iterations/001": "Thing 1 is done.", "stage-00-ralph/iterations/002": "Thing 2 is done.",
		"stage-00-ralph/iterations/003": "Thing 3 is done.",
	})
	var loops []struct{ Session, Type, Status string }
	readJSON(t, filepath.Join(w.project, ".claude/loop-completions.json"), &loops)
	if len(loops) != 1 || loops[0].Session != session || loops[0].Type != "ralph" || loops[0].Status != "complete" {
		t.Errorf("loop-completions.json: %+v", loops)
	}
}

func refined(t *testing.T, w world) {
	t.Helper()
	w.assertOutputs(t, map[string]string{
		"stage-00-improve/iterations/001": "A plan of one step.", "stage-00-improve/iterations/002": "A plan of two steps.",
		"stage-01-tasks/iterations/001": "Two tasks.",
	})
}

func judged(t *testing.T, w world) {
	t.Helper()
	w.assertOutputs(t, map[string]string{
		"stage-00-polish/iterations/001": "Shorter.", "stage-00-polish/iterations/002": "Clearer.",
		"stage-00-polish/iterations/003": "Clear.", "stage-00-polish/iterations/004": "Still clear.",
	})
	if n := strings.Count(content(t, filepath.Join(w.project, sessionDir, "events.jsonl")), `"type":"judge_complete"`); n != 4 {
		t.Errorf("events.jsonl: %d of judge_complete, want 4", n)
	}
	var judge struct {
		Stop   bool
		Reason string
	}
	readJSON(t, filepath.Join(w.project, sessionDir, "stage-00-polish/iterations/004/judge.json"), &judge)
	if !judge.Stop || judge.Reason != "Nothing is left." {
		t.Errorf("judge.json: %+v", judge)
	}
}

func debated(t *testing.T, w world) {
	t.Helper()
	const think, answer = "parallel-00-think/providers/", "parallel-01-answer/providers/"
	w.assertOutputs(t, map[string]string{
		think + "claude/stage-00-thought/iterations/001": "Claude likes tabs.", think + "codex/stage-00-thought/iterations/001": "Codex likes spaces.",
		answer + "claude/stage-00-reply/iterations/001": "Claude stays with tabs.", answer + "codex/stage-00-reply/iterations/001": "Codex gives in.",
		"stage-02-sum/iterations/001": "Tabs it is.",
	})
	for agent, other := range map[string]string{"claude": "codex", "codex": "claude"} {
		var context struct {
			Inputs struct {
				FromParallel struct {
					Providers map[string]struct{ Output string }
				} `json:"from_parallel"`
			}
		}
		readJSON(t, filepath.Join(w.project, sessionDir, answer+agent+"/stage-00-reply/iterations/001/context.json"), &context)
		given := context.Inputs.FromParallel.Providers
		want := filepath.Join(w.project, sessionDir, think+other+"/stage-00-thought/iterations/001/output.md")
		if len(given) != 1 || given[other].Output != want {
			t.Errorf("%s was given %+v, want %s alone", agent, given, want)
		}
	}
}

// assertOutputs: these iterations were made and no others, each with its output, and its result has the
// same words.
func (w world) assertOutputs(t *testing.T, want map[string]string) {
	t.Helper()
	dir := filepath.Join(w.project, sessionDir)
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Base(filepath.Dir(path)) != "iterations" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		got[name] = strings.TrimSpace(content(t, filepath.Join(path, "output.md")))
		var result struct{ Summary string }
		if text, fault := os.ReadFile(filepath.Join(path, "result.json")); fault != nil || json.Unmarshal(text, &result) != nil || result.Summary != got[name] {
			t.Errorf("%s: result %s, error %v, want the words of the output", name, text, fault)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}
