package e2ereal

import (
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/test/stubmodel"
)

// sessionScenarios are whole sessions of several iterations, stages and agents, undisturbed and with kill -9 of the
// product in the middle (U310). The prompts name the context file and the result file. From the context a real agent
// finds the outputs of other agents.
var sessionScenarios = []scenario{
	{
		name: "ralph", agent: claude, project: "ralph", script: ralphScript(shell), want: completed, check: ralphDone,
		args: []string{"loop", "ralph", session, "3", "--foreground", "--provider=claude", "--model=sonnet"},
	},
	{
		name: "ralph", agent: codex, project: "ralph", script: ralphScript(execCommand), want: completed, check: ralphDone,
		args: []string{"ralph", session, "3", "--foreground", "--provider=codex", "--model=gpt-5.5"},
	},
	{name: "refine", agent: claude, project: "refine", script: refineScript(shell, sonnet), want: completed, check: refined},
	{
		name: "refine", agent: codex, project: "refine", script: refineScript(execCommand, gpt), want: completed, check: refined,
		args: []string{"pipeline", "scenario", session, "--foreground", "--provider=codex", "--model=gpt-5.5"},
	},

	// Two agents in two blocks, then one of them alone. When the product is killed, one agent has finished its part
	// of the block and the other waits for an answer.
	{
		name: "debate", agent: claude, project: "debate", script: claudeDebates(), second: &second{codex, codexDebates()},
		smoke: true, want: completed, check: debated(1, 1),
	},
	{
		name: "debate-kill", agent: claude, project: "debate", script: claudeDebates(0), second: &second{codex, codexDebates()},
		act: killInBlock(0, "codex", "parallel-00-think"), want: want{exit: crashed}, check: debated(2, 1),
	},
	{
		name: "debate-kill-late", agent: codex, project: "debate", script: codexDebates(1), second: &second{claude, claudeDebates()},
		act: killInBlock(1, "claude", "parallel-01-answer"), want: want{exit: crashed}, check: debated(1, 2),
	},

	// The judge is content once, then not, then twice in a row. When the product is killed, the last iteration or the
	// last question has begun. The earlier verdicts of the judge still count.
	{name: "judged", agent: claude, project: "judged", script: claudeJudged(), want: completed, check: judged(1, 0)},
	{
		name: "judged-kill", agent: claude, project: "judged", script: claudeJudged(6),
		act: killProduct, want: want{exit: crashed}, check: judged(2, 1),
	},
	{
		name: "judged-by-codex", agent: claude, project: "judged", script: turns(polishing...), second: &second{codex, judging(gpt)},
		args: byCodex, smoke: true, want: completed, check: judged(1, 0),
	},
	{
		name: "judged-by-codex-kill", agent: claude, project: "judged", script: turns(polishing...), second: &second{codex, judging(gpt, 3)},
		args: byCodex, act: killProduct, want: want{exit: crashed}, check: judged(1, 1),
	},
}

// byCodex are the arguments of a session in which Claude Code polishes and Codex judges.
var byCodex = []string{"pipeline", "by-codex", session, "--foreground"}

// captures are the patterns of the paths that only a prompt contains.
var captures = map[string]string{"result": `(?m)^Result file: (.+)$`, "context": `(?m)^Context file: (.+)$`}

// shell returns a call by which Claude Code runs a command, execCommand one for Codex.
func shell(command string) stubmodel.ToolCall {
	return stubmodel.ToolCall{Name: "Bash", Input: map[string]any{"command": command, "description": "Run a command"}}
}

func execCommand(command string) stubmodel.ToolCall {
	return stubmodel.ToolCall{Name: "exec_command", Input: map[string]any{"cmd": command}}
}

type tool func(command string) stubmodel.ToolCall

// task returns the turns of one iteration: a command whose output must match sees, a command that writes the result,
// and the text word, which is the output. Without a command the first turn is missing.
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

// silentBefore returns the script of the tasks with a turn that hangs before the tasks at the indexes. The request of
// such a turn is repeated after the resume.
func silentBefore(tasks [][]stubmodel.Turn, indexes ...int) stubmodel.Script {
	tasks = slices.Clone(tasks)
	for _, i := range indexes {
		tasks[i] = slices.Insert(slices.Clone(tasks[i]), 0, stubmodel.Turn{Expect: tasks[i][0].Expect, Hang: true})
	}
	return turns(tasks...)
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

// outputsIn returns a command that prints the outputs whose paths are in the context file and match a pattern.
func outputsIn(pattern string) string {
	return `grep -o '/[^"]*` + pattern + `[^"]*/output\.md' '{{context}}' | sort -u | while read -r f; do cat "$f"; done`
}

const (
	sonnet = "^claude-sonnet-"
	haiku  = "^claude-haiku-"
	gpt    = `^gpt-5\.5$`
)

func refineScript(run tool, model string) stubmodel.Script {
	return turns(
		task(run, model, "for the 1. time", "", "", "A plan of one step."),
		task(run, model, "for the 2. time", outputsIn("stage-00-improve/iterations/001"), `A plan of one step\.\s*$`, "A plan of two steps."),
		task(run, model, "Make tasks", outputsIn("stage-00-improve"), `A plan of one step\.\s+A plan of two steps\.\s*$`, "Two tasks."),
	)
}

// polishing are the tasks of the iterations that a judge reads.
var polishing = [][]stubmodel.Turn{
	task(shell, sonnet, "for the 1. time", "", "", "Shorter."),
	task(shell, sonnet, "for the 2. time", "", "", "Clearer."),
	task(shell, sonnet, "for the 3. time", "", "", "Clear."),
	task(shell, sonnet, "for the 4. time", "", "", "Still clear."),
}

// judgments returns the tasks of the judge, with its verdicts: content once, then not, then twice in a row.
func judgments(model string) [][]stubmodel.Turn {
	judgment := func(iteration int, saw, answer string) []stubmodel.Turn {
		return []stubmodel.Turn{{
			Expect: &stubmodel.Expect{Model: model, Prompt: fmt.Sprintf(`(?s)polish is done after iteration %d\..*%s`, iteration, saw)}, Text: answer,
		}}
	}
	return [][]stubmodel.Turn{
		judgment(1, "Shorter", `{"stop": true, "reason": "It is short.", "confidence": 0.6}`),
		judgment(2, "Clearer", "```json\n{\"stop\": false, \"reason\": \"It can be clearer.\", \"confidence\": 0.7}\n```"),
		judgment(3, "Clear", `{"stop": true, "reason": "It is clear.", "confidence": 0.8}`),
		judgment(4, "Still clear", `{"stop": true, "reason": "Nothing is left.", "confidence": 0.9}`),
	}
}

func judging(model string, silent ...int) stubmodel.Script {
	return silentBefore(judgments(model), silent...)
}

// claudeJudged returns the script in which Claude Code alternately polishes and judges, with two models.
func claudeJudged(silent ...int) stubmodel.Script {
	var tasks [][]stubmodel.Turn
	for n, judgment := range judgments(haiku) {
		tasks = append(tasks, polishing[n], judgment)
	}
	return silentBefore(tasks, silent...)
}

func claudeDebates(silent ...int) stubmodel.Script {
	return silentBefore([][]stubmodel.Turn{
		task(shell, sonnet, "Say what you think", "", "", "Claude likes tabs."),
		task(shell, sonnet, "Read the other opinion", outputsIn("/providers/.*/stage-00-thought"), `^Codex likes spaces\.\s*$`, "Claude stays with tabs."),
		task(shell, sonnet, "sum it up", outputsIn("/providers/"),
			`^Claude likes tabs\.\s+Codex likes spaces\.\s+Claude stays with tabs\.\s+Codex gives in\.\s*$`, "Tabs it is."),
	}, silent...)
}

func codexDebates(silent ...int) stubmodel.Script {
	return silentBefore([][]stubmodel.Turn{
		task(execCommand, gpt, "Say what you think", "", "", "Codex likes spaces."),
		task(execCommand, gpt, "Read the other opinion", outputsIn("/providers/.*/stage-00-thought"), `Claude likes tabs\.\s*$`, "Codex gives in."),
	}, silent...)
}
