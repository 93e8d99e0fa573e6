package e2ereal

import (
	"slices"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/test/stubmodel"
)

var (
	claude = agent{Claude, "sonnet"}
	codex  = agent{Codex, "gpt-5.5"}
)

// The policies keep the scenarios short: the kernel retries without a pause, and an agent that hangs has 3 s with
// short.
const (
	once  = "{stage_timeout: 60, retry: {attempts: 1}}"
	short = "{stage_timeout: 3, retry: {attempts: 1}}"
	twice = "{stage_timeout: 60, retry: {attempts: 2, backoff: [0]}}"
)

// scenarios returns the whole table: kill -9 and resume, every failure of the service, signals to the product and to
// the agent, and whole sessions.
func scenarios() []scenario { return slices.Concat(claudeScenarios, codexScenarios, sessionScenarios) }

// always returns the script of a service that sends the same answer to every request.
func always(turn stubmodel.Turn) stubmodel.Script {
	return stubmodel.Script{Turns: []stubmodel.Turn{turn}}
}

var completed = want{status: "completed"}

// failed returns the end of a session whose last attempt failed.
func failed(errorType, message, remedy string, retryable bool, attempts int) want {
	return want{
		exit: 1, status: "failed", errorType: errorType, message: message, remedy: remedy,
		retryable: retryable, attempts: attempts,
	}
}

var (
	// timedOut is the end by the time limit of the attempt. It has its own exit code.
	timedOut = want{
		exit: 20, status: "failed", errorType: "iteration_timeout", message: "did not end within 3s",
		remedy: "stage_timeout", retryable: true, attempts: 1,
	}
	// terminated is the end by a signal to the product.
	terminated = want{
		exit: 143, status: "paused", pause: "signal", errorType: "signal_interrupt", message: "SIGTERM", attempts: 1,
	}
)

const longText = "half of this is lost in transit to the agent"

var (
	hang         = stubmodel.Turn{Hang: true}
	cut          = stubmodel.Turn{Text: longText, CutAfter: 4}
	unauthorized = stubmodel.Turn{Status: 401}
	limited      = stubmodel.Turn{Status: 429}
	limitedHour  = stubmodel.Turn{Status: 429, Headers: map[string]string{"retry-after": "3600"}}
	limitedOnce  = stubmodel.Turn{Status: 429, Headers: map[string]string{"retry-after": "1"}}
	done         = stubmodel.Turn{Text: "All done.", Usage: stubmodel.Usage{Input: 1200, Output: 20}}
)

// limitedThenDone returns the script of a service that is busy once. Then the agent writes its result with tool.
func limitedThenDone(tool func(path, content string) stubmodel.ToolCall) stubmodel.Script {
	return stubmodel.Script{
		Captures: map[string]string{"result": `(?m)^Result file: (.+)$`},
		Turns: []stubmodel.Turn{
			limitedOnce,
			{ToolCalls: []stubmodel.ToolCall{tool("{{result}}", `{"summary": "It worked."}`)}},
			done,
		},
	}
}

// write returns a call by which Claude Code writes a file, printf one for Codex.
func write(path, content string) stubmodel.ToolCall {
	return stubmodel.ToolCall{Name: "Write", Input: map[string]any{"file_path": path, "content": content}}
}

func printf(path, content string) stubmodel.ToolCall {
	return stubmodel.ToolCall{Name: "exec_command", Input: map[string]any{"cmd": "printf %s '" + content + "' > '" + path + "'"}}
}

var claudeScenarios = []scenario{
	{name: "letter", agent: claude, letter: true, smoke: true, want: completed, check: checkLetter(usage{3300, 110, 200, 30}, usage{930, 48, 0, 0})},
	{name: "kill", agent: claude, letter: true, act: killProduct, want: want{exit: crashed}, check: killedLetter},
	{name: "unauthorized", agent: claude, policy: twice, script: always(unauthorized), want: failed("provider_failed", "401", "log in", false, 1)},
	{name: "rate-limited", agent: claude, policy: twice, script: always(limited), smoke: true, want: failed("provider_failed", "429", "limit", true, 2)},
	{name: "rate-limited-for-an-hour", agent: claude, policy: once, script: always(limitedHour), want: failed("provider_failed", "429", "limit", true, 1)},
	{name: "rate-limited-once", agent: claude, policy: once, script: limitedThenDone(write), want: completed},
	{name: "overloaded", agent: claude, policy: twice, script: always(stubmodel.Turn{Status: 529}), want: failed("provider_failed", "529|verloaded", "service", true, 2)},
	{name: "cut", agent: claude, policy: twice, script: always(cut), want: failed("provider_failed", "Connection to the API was lost", "network", true, 2)},
	{name: "hang-idle", agent: claude, policy: "{idle_timeout: 2, retry: {attempts: 1}}", script: always(hang), want: failed("provider_timeout", "silent for 2s", "idle limit", true, 1)},
	{name: "hang-timeout", agent: claude, policy: short, script: always(hang), want: timedOut},
	{name: "product-terminated", agent: claude, policy: twice, script: always(hang), act: terminateProduct, want: terminated},
	{name: "agent-terminated", agent: claude, policy: once, script: always(hang), act: signalAgent(syscall.SIGTERM), want: failed("provider_crashed", "143", "resume", true, 1)},
	{name: "agent-interrupted", agent: claude, policy: once, script: always(hang), act: signalAgent(syscall.SIGINT), want: failed("provider_crashed", "aborted_streaming", "resume", true, 1)},
	{name: "prompt-too-long", agent: claude, policy: twice, script: always(stubmodel.Turn{Status: 400, ErrorType: "invalid_request_error", ErrorMessage: "prompt is too long: 210000 tokens > 200000 maximum"}), want: failed("provider_failed", "too long", "less", false, 1)},
}

var codexScenarios = []scenario{
	{name: "letter", agent: codex, letter: true, smoke: true, want: completed, check: checkLetter(usage{3300, 110, 200, 0}, usage{930, 48, 0, 0})},
	{name: "kill", agent: codex, letter: true, act: killProduct, want: want{exit: crashed}, check: killedLetter},
	{name: "unauthorized", agent: codex, policy: twice, script: always(unauthorized), want: failed("provider_failed", "401", "log in", false, 1)},
	{name: "rate-limited", agent: codex, policy: twice, script: always(limited), smoke: true, want: failed("provider_failed", "429", "limit", true, 2)},
	{name: "rate-limited-for-an-hour", agent: codex, policy: short, script: always(limitedHour), want: timedOut},
	{name: "rate-limited-once", agent: codex, policy: once, script: limitedThenDone(printf), want: completed},
	{name: "unavailable", agent: codex, policy: twice, script: always(stubmodel.Turn{Status: 503}), want: failed("provider_failed", "at capacity", "service", true, 2)},
	{name: "cut", agent: codex, policy: twice, script: always(cut), want: failed("provider_failed", "stream disconnected", "network", true, 2)},
	{name: "hang-idle", agent: codex, policy: "{idle_timeout: 2, retry: {attempts: 1}}", script: always(hang), want: failed("provider_timeout", "silent for 2s", "idle limit", true, 1)},
	{name: "hang-timeout", agent: codex, policy: short, script: always(hang), want: timedOut},
	{name: "product-terminated", agent: codex, policy: twice, script: always(hang), act: terminateProduct, want: terminated},
	{name: "agent-terminated", agent: codex, policy: once, script: always(hang), act: signalAgent(syscall.SIGTERM), want: failed("provider_crashed", "terminated", "resume", true, 1)},
	{name: "agent-interrupted", agent: codex, policy: once, script: always(hang), act: signalAgent(syscall.SIGINT), want: failed("provider_crashed", "exited with code 1", "resume", true, 1)},
	{name: "context-too-long", agent: codex, policy: twice, script: always(stubmodel.Turn{Text: longText, MidStream: true, CutAfter: 2, ErrorType: "context_length_exceeded"}), want: failed("provider_failed", "context window", "less", false, 1)},
	{name: "quota", agent: codex, policy: twice, script: always(stubmodel.Turn{Status: 429, ErrorType: "insufficient_quota", ErrorMessage: "You exceeded your current quota"}), want: failed("provider_failed", "(?i)quota", "billing", false, 1)},
}
