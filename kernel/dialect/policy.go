package dialect

import (
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Policy is the policy of a pipeline, a node or a stage of a block.
var Policy = Object{
	Name: "policy", Doc: "Limits and safety, of a pipeline, a node or a stage of a block.",
	Keys: []Field{
		{Name: "timeout", Doc: "Of a pipeline: how long the run may take. Of a node: how long an attempt of it may.", Holds: seconds(), Default: "no limit"},
		{Name: "stage_timeout", Doc: "How long an attempt of any node may take.", Holds: seconds(), Default: "no limit"},
		{Name: "idle_timeout", Doc: "How long an attempt may go on without a sign of life.", Holds: seconds(), Default: "no limit"},
		{Name: "retry", Doc: "How often work is tried again.", Holds: in(&Retry)},
		{Name: "recovery", Doc: "What happens to an attempt that a crash cut off.", Holds: oneOf(plan.RecoveryAsk, plan.RecoveryFail, plan.RecoveryRerun), Default: "rerun"},
		{Name: "env", Doc: "The variables of the environment that agents get.", Holds: either(exactly("inherit", "minimal"), listOf(Value{Type: String, Pattern: `[A-Za-z_][A-Za-z0-9_]*`, About: "name"}))},
		{Name: "feedback", Doc: "How often a person may send a stage back.", Holds: in(&Feedback)},
		{Name: "approvals", Doc: "Who decides on agents' tool calls.", Holds: in(&Approvals)},
		{Name: "sandbox", Doc: "The isolation of plugin processes.", Holds: sandbox()},
		{Name: "cycles", Doc: "How often edges that lead back may be taken.", Holds: in(&Cycles)},
		{Name: "budget", Doc: "How many tokens prompts may have.", Holds: in(&Budget)},
		{Name: "context", Doc: "How much agents are told of what was before.", Holds: oneOf("focused", "full", "minimal", "summary")},
		{Name: "cost", Doc: "What attempts may cost.", Holds: in(&Cost)},
		{Name: "escalation", Doc: "What happens when a person is needed.", Holds: in(&Escalation)},
		{Name: "required", Doc: "Of a node: every way to the end leads through it.", Holds: flag(), Default: "false"},
		{Name: "mode", Doc: "Of a pipeline: where models may be.", Holds: oneOf(plan.Modes()...), Default: "that of the settings, else open"},
		{Name: "tools", Doc: "Limits of agents' own tools.", Holds: in(&Tools)},
		{Name: "secrets", Doc: "What is a secret besides what always is one.", Holds: in(&Secrets)},
	},
}

func sandbox() Value { return either(exactly(plan.SandboxModes()...), in(&Sandbox)) }

// Retry says how often work is tried again.
var Retry = Object{
	Name: "retry", Doc: "How often work is tried again, and after which pauses.",
	Keys: []Field{
		{Name: "attempts", Doc: "The attempts of an iteration in all.", Holds: count(), Default: "2"},
		{Name: "backoff", Doc: "Seconds before the second, third, … attempt; the last one repeats.", Holds: listOf(pause())},
		{Name: "step", Doc: "How often a step is tried again.", Holds: count(), Default: "3"},
		{Name: "stage", Doc: "How often a node with transitions, steps or this key is tried again.", Holds: count(), Default: "2"},
		{Name: "on_stage_retry", Doc: "Whether a step that failed then has all its retries once more, or one try.", Holds: oneOf("renew", "single"), Default: "renew"},
	},
}

// Feedback says how often a person may send a stage back.
var Feedback = Object{
	Name: "feedback", Doc: "Whether a person may send a stage back, and how often.",
	Keys: []Field{
		{Name: "enabled", Doc: "It may be sent back.", Holds: flag(), Default: "true"},
		{Name: "max", Doc: "How often.", Holds: within(1, plan.MaxFeedback)},
	},
}

var decisions = []plan.Approval{plan.ApprovalAuto, plan.ApprovalPrompt, plan.ApprovalDeny, plan.ApprovalSkip}

// Approvals say who decides on tool calls.
var Approvals = Object{
	Name: "approvals", Doc: "Who decides on the tool calls of agents that ask.",
	Keys: []Field{
		{Name: "default", Doc: "For calls that nothing else speaks of.", Holds: oneOf(plan.ApprovalAuto, plan.ApprovalPrompt, plan.ApprovalDeny), Default: "prompt, but auto for what only reads or makes directories"},
		{Name: "timeout", Doc: "How long a person is waited for.", Holds: seconds(), Default: "no limit"},
		{Name: "on_timeout", Doc: "What happens after that.", Holds: oneOf(plan.ApprovalDeny, plan.ApprovalSkip, plan.ApprovalEscalate)},
		{Name: "non_interactive", Doc: "What happens where nobody is there.", Holds: oneOf(plan.ApprovalAuto, plan.ApprovalSkip, plan.ApprovalFail, plan.ApprovalDeny), Default: "deny"},
		{Name: "categories", Doc: "By the kind of the operation.", Holds: in(&Categories)},
		{Name: "rules", Doc: "Finer rules, of which the first that fits counts.", Holds: listOf(in(&Rule))},
		{Name: "protected", Doc: "Globs of paths that no rule and no person can allow to be written.", Holds: listOf(Value{Type: String, Pattern: `[^!](.|\n)*`, About: "glob"})},
	},
}

// Categories are the kinds of operations.
var Categories = Object{
	Name: "categories", Doc: "What is decided on tool calls by the kind of their operation.", Keys: categories(), Other: RefusedAll,
}

func categories() []Field {
	var keys []Field
	for _, c := range sdk.Categories() {
		keys = append(keys, Field{Name: string(c), Doc: "Calls of this kind.", Holds: oneOf(decisions...)})
	}
	return keys
}

// Rule is one rule of approvals.
var Rule = Object{
	Name: "rule", Doc: "What is decided on some tool calls.",
	Keys: []Field{
		{Name: "name", Doc: "Its name, for messages.", Holds: text()},
		{Name: "operation", Doc: "The kind of the operation.", Holds: oneOf(sdk.Categories()...), Default: "all"},
		{Name: "pattern", Doc: "A glob of paths, or of commands a regular expression; with ! before it, all others.", Holds: text(), Default: "all"},
		{Name: "policy", Doc: "What is decided.", Holds: oneOf(decisions...), Required: true},
	},
	Other: RefusedAll,
}

// Cycles say how often edges that lead back may be taken.
var Cycles = Object{
	Name: "cycles", Doc: "How often edges that lead back may be taken.",
	Keys: []Field{
		{Name: "default", Doc: "The limit of an edge that says none.", Holds: within(1, plan.MaxCycles), Default: "3"},
		{Name: "max", Doc: "The most that any edge may say.", Holds: within(1, plan.MaxCycles), Default: "10"},
		{Name: "session", Doc: "The limit of all of them together, in the whole run.", Holds: count(), Default: "30"},
		{Name: "identical", Doc: "So many equal passes in a row count as the limit.", Holds: within(2, most), Default: "they are not compared"},
	},
}

// Budget says how many tokens prompts may have.
var Budget = Object{
	Name: "budget", Doc: "How many tokens prompts may have.",
	Keys: []Field{
		{Name: "total", Doc: "The whole: a number of tokens, or model for what the provider's model takes in.", Holds: either(count(), oneOf("model")), Required: true},
		{Name: "shares", Doc: "Of a pipeline: the percentages of nodes, by their ids.", Holds: namesOf(within(1, 100))},
	},
}

// Cost says what attempts may cost.
var Cost = Object{
	Name: "cost", Doc: "What attempts may cost.",
	Keys: []Field{
		{Name: "max_usd", Doc: "The most dollars.", Holds: positive()},
		{Name: "max_tokens", Doc: "The most tokens.", Holds: count()},
		{Name: "warn_usd", Doc: "From how many dollars on people are warned.", Holds: positive()},
		{Name: "reserve_usd", Doc: "What has to be left for an attempt to begin, in dollars, and what one counts as that does not say.", Holds: positive()},
		{Name: "reserve_tokens", Doc: "The same in tokens.", Holds: count()},
	},
}

// Escalation says what happens when a person is needed.
var Escalation = Object{
	Name: "escalation", Doc: "What happens when a person is needed.",
	Keys: []Field{
		{Name: "on_limit", Doc: "What happens when the limit of an edge is reached.", Holds: limits(), Default: "pause"},
		{Name: "wait", Doc: "The run waits for the answer, wherever it runs.", Holds: flag()},
		{Name: "timeout", Doc: "How long.", Holds: seconds(), Default: "a day"},
		{Name: "poll", Doc: "How often the answer is looked for.", Holds: seconds(), Default: "5"},
		{Name: "on_timeout", Doc: "What happens after that.", Holds: limits()},
	},
}

// Tools limit agents' own tools.
var Tools = Object{
	Name: "tools", Doc: "Limits of agents' own tools.",
	Keys: []Field{
		{Name: "allowed_commands", Doc: "The programs that agents may run.", Holds: listOf(Value{Type: String, Pattern: `[A-Za-z0-9_][A-Za-z0-9_.+-]*`, About: "name of a program"})},
		{Name: "command_timeout", Doc: "How long each may take.", Holds: seconds(), Default: "the provider's own limit"},
		{Name: "max_result_tokens", Doc: "The most tokens of a tool's result.", Holds: count()},
	},
}

// Secrets say what is a secret.
var Secrets = Object{
	Name: "secrets", Doc: "What is a secret besides what always is one.",
	Keys: []Field{{Name: "patterns", Doc: "Regular expressions (RE2) of secrets.", Holds: listOf(Value{Type: String, About: "regular expression"})}},
}

// Sandbox is the long form of sandbox.
var Sandbox = Object{
	Name: "sandbox", Doc: "The isolation of plugin processes.", Strict: true, Other: RefusedAll,
	Keys: []Field{
		{Name: "cpu", Doc: "The most processors, or parts of one.", Holds: Value{Type: Number, Above: bound(0), Most: bound(most)}},
		{Name: "memory", Doc: "The most memory, at least 16M.", Holds: size(16<<20, 1<<50)},
		{Name: "mode", Doc: "How much is kept from the process.", Holds: exactly(plan.SandboxModes()...)},
		{Name: "network", Doc: "What it reaches of the network.", Holds: either(exactly(plan.Networks()...), flag())},
		{Name: "processes", Doc: "The most processes.", Holds: within(1, most)},
		{Name: "read", Doc: "Paths that it may read beside those that are always there.", Holds: paths()},
		{Name: "write", Doc: "Paths that it may write.", Holds: paths()},
	},
}

func paths() Value {
	path := Value{Type: String, Pattern: `[^\x00]*[^\s\x00][^\x00]*`, About: "path"}
	return either(path, listOf(path))
}
