package dialect

import (
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Policy is the policy of a pipeline, a node or a stage of a block.
var Policy = Object{
	Name: "policy", Doc: "Limits and safety, of a pipeline, a node or a stage of a block.",
	Fields: []Field{
		{Name: "timeout", Doc: "How long a run of the pipeline may take; in a node, how long an attempt may take.", Value: seconds(), Default: "no limit"},
		{Name: "stage_timeout", Doc: "How long an attempt of any node may take.", Value: seconds(), Default: "no limit"},
		{Name: "idle_timeout", Doc: "How long an attempt may go without activity.", Value: seconds(), Default: "no limit"},
		{Name: "retry", Doc: "How often failed work is repeated.", Value: NestedObject(&Retry)},
		{Name: "recovery", Doc: "What happens to an attempt that a crash interrupted.", Value: choice(plan.RecoveryAsk, plan.RecoveryFail, plan.RecoveryRerun), Default: "rerun"},
		{Name: "env", Doc: "The variables of the environment that agents get.", Value: AnyOf(ExactChoice("inherit", "minimal"), Sequence(Value{Type: String, Pattern: `[A-Za-z_][A-Za-z0-9_]*`, About: "name"}))},
		{Name: "feedback", Doc: "How often the user may send a stage back.", Value: NestedObject(&Feedback)},
		{Name: "approvals", Doc: "Decisions on the agents' tool calls.", Value: NestedObject(&Approvals)},
		{Name: "sandbox", Doc: "The isolation of plugin processes.", Value: sandboxForms()},
		{Name: "cycles", Doc: "How often edges that lead back may be taken.", Value: NestedObject(&Cycles)},
		{Name: "budget", Doc: "How many tokens prompts may have.", Value: NestedObject(&Budget)},
		{Name: "context", Doc: "How much of the earlier work agents see.", Value: choice("focused", "full", "minimal", "summary")},
		{Name: "cost", Doc: "The maximum cost of all attempts together.", Value: NestedObject(&Cost)},
		{Name: "escalation", Doc: "What happens when the user is needed.", Value: NestedObject(&Escalation)},
		{Name: "required", Doc: "Whether every path to the end must pass through the node.", Value: boolean(), Default: "false"},
		{Name: "mode", Doc: "Where the models of a pipeline may be.", Value: choice(plan.Modes()...), Default: "that of the settings, else open"},
		{Name: "tools", Doc: "Limits of agents' own tools.", Value: NestedObject(&Tools)},
		{Name: "secrets", Doc: "Patterns of secrets beside the built-in ones.", Value: NestedObject(&Secrets)},
	},
}

func sandboxForms() Value { return AnyOf(ExactChoice(plan.SandboxModes()...), NestedObject(&Sandbox)) }

// Retry is the policy of retries.
var Retry = Object{
	Name: "retry", Doc: "How often failed work is repeated, and after which pauses.",
	Fields: []Field{
		{Name: "attempts", Doc: "The attempts of an iteration in all.", Value: count(), Default: "2"},
		{Name: "backoff", Doc: "Seconds before the second, third, … attempt; the last one repeats.", Value: namedSequence("a pause", pause())},
		{Name: "step", Doc: "How often a failed step is repeated.", Value: count(), Default: "3"},
		{Name: "stage", Doc: "How often a failed node with transitions, steps or this key is repeated.", Value: count(), Default: "2"},
		{Name: "on_stage_retry", Doc: "Whether a step that failed then has all its retries once more, or one try.", Value: choice("renew", "single"), Default: "renew"},
	},
}

// Feedback limits how often the user may send a stage back.
var Feedback = Object{
	Name: "feedback", Doc: "Whether the user may send a stage back, and how often.",
	Fields: []Field{
		{Name: "enabled", Doc: "Whether a stage may be sent back.", Value: boolean(), Default: "true"},
		{Name: "max", Doc: "How often a stage may be sent back.", Value: integer(1, plan.MaxFeedback)},
	},
}

var decisions = []plan.Approval{plan.ApprovalAuto, plan.ApprovalPrompt, plan.ApprovalDeny, plan.ApprovalSkip}

// Approvals are the decisions on tool calls.
var Approvals = Object{
	Name: "approvals", Doc: "Decisions on the tool calls of agents that ask.",
	Fields: []Field{
		{Name: "default", Doc: "The decision for all other calls.", Value: choice(plan.ApprovalAuto, plan.ApprovalPrompt, plan.ApprovalDeny), Default: "prompt, but auto for calls that only read or make directories"},
		{Name: "timeout", Doc: "How long to wait for the user.", Value: seconds(), Default: "no limit"},
		{Name: "on_timeout", Doc: "What happens when the time is over.", Value: choice(plan.ApprovalDeny, plan.ApprovalSkip, plan.ApprovalEscalate)},
		{Name: "non_interactive", Doc: "What happens if no user is present.", Value: choice(plan.ApprovalAuto, plan.ApprovalSkip, plan.ApprovalFail, plan.ApprovalDeny), Default: "deny"},
		{Name: "categories", Doc: "Decisions by the kind of the operation.", Value: NestedObject(&Categories)},
		{Name: "rules", Doc: "Finer rules; the first match wins.", Value: Sequence(NestedObject(&Rule))},
		{Name: "protected", Doc: "Globs of paths that no rule and no user can allow to be written.", Value: namedSequence("a path", Value{Type: String, Pattern: `[^!](.|\n)*`, About: "glob"})},
	},
}

// Categories are the kinds of operations.
var Categories = Object{
	Name: "categories", Doc: "Decisions on tool calls by kind of operation.", Fields: categoryFields(), Unknown: RefusedAll, KeyNoun: "category",
}

func categoryFields() []Field {
	var keys []Field
	for _, c := range sdk.Categories() {
		keys = append(keys, Field{Name: string(c), Doc: "The decision on tool calls of this kind.", Value: choice(decisions...)})
	}
	return keys
}

// Rule is one rule of approvals.
var Rule = Object{
	Name: "rule", Doc: "A decision on some tool calls.",
	Fields: []Field{
		{Name: "name", Doc: "Its name, for messages.", Value: AnyText()},
		{Name: "operation", Doc: "The kind of the operation.", Value: choice(sdk.Categories()...), Default: "all"},
		{Name: "pattern", Doc: "A glob of paths, or a regular expression of commands; the prefix ! negates it.", Value: AnyText(), Default: "all"},
		{Name: "delivery_modes", Doc: "The rule counts only in runs with these modes.", Value: nonEmpty(Sequence(choice(plan.DeliveryModes()...))), Default: "all"},
		{Name: "policy", Doc: "The decision.", Value: choice(decisions...), Required: true},
	},
	Unknown: RefusedAll, KeyNoun: "key",
}

// Cycles limit how often edges that lead back may be taken.
var Cycles = Object{
	Name: "cycles", Doc: "How often edges that lead back may be taken.",
	Fields: []Field{
		{Name: "default", Doc: "The limit of an edge that sets none.", Value: integer(1, plan.MaxCycles), Default: "3"},
		{Name: "max", Doc: "The maximum limit of an edge.", Value: integer(1, plan.MaxCycles), Default: "10"},
		{Name: "session", Doc: "The limit of all such edges together, in the whole run.", Value: count(), Default: "30"},
		{Name: "identical", Doc: "How often in a row an edge may be taken with the same output of the cycle.", Value: passes(), Default: "they are not compared", Hint: "leave the key out to disable the comparison"},
	},
}

func passes() Value {
	v := integer(2, MaxCount)
	v.Unit = " passes"
	return v
}

// Budget limits the tokens of prompts.
var Budget = Object{
	Name: "budget", Doc: "How many tokens prompts may have.",
	Fields: []Field{
		{Name: "total", Doc: "The total: a number of tokens, or model for the context window of the provider's model.", Value: AnyOf(count(), choice("model")), Required: true},
		{Name: "shares", Doc: "The nodes' percentages of a pipeline's budget, by their ids.", Value: MapTo(integer(1, 100))},
	},
}

// Cost limits the cost of attempts.
var Cost = Object{
	Name: "cost", Doc: "The maximum cost of all attempts together.",
	Fields: []Field{
		{Name: "max_usd", Doc: "The most dollars.", Value: positive()},
		{Name: "max_tokens", Doc: "The most tokens.", Value: count()},
		{Name: "warn_usd", Doc: "The cost in dollars from which the user is warned.", Value: positive()},
		{Name: "reserve_usd", Doc: "The dollars that must be left for an attempt to begin; also the cost of an attempt that reports none.", Value: positive()},
		{Name: "reserve_tokens", Doc: "The same in tokens.", Value: count()},
	},
}

// Escalation is the policy of questions at a limit.
var Escalation = Object{
	Name: "escalation", Doc: "What happens when the user is needed.",
	Fields: []Field{
		{Name: "on_limit", Doc: "What happens when the limit of an edge is reached.", Value: limitChoice(), Default: "pause"},
		{Name: "wait", Doc: "The run waits for the answer, wherever it runs.", Value: boolean()},
		{Name: "timeout", Doc: "How long to wait.", Value: seconds(), Default: "a day"},
		{Name: "poll", Doc: "How often to look for the answer.", Value: seconds(), Default: "5 seconds"},
		{Name: "on_timeout", Doc: "What happens when the time is over.", Value: limitChoice()},
	},
}

// Tools limit the agents' own tools.
var Tools = Object{
	Name: "tools", Doc: "Limits of agents' own tools.",
	Fields: []Field{
		{Name: "allowed_commands", Doc: "The programs that agents may run.", Value: namedSequence("a command", Value{Type: String, Pattern: `[A-Za-z0-9_][A-Za-z0-9_.+-]*`, Mismatch: "is not the name of a program", About: "name of a program"}), Hint: "write the name of a program, without a path or arguments"},
		{Name: "command_timeout", Doc: "How long each may take.", Value: seconds(), Default: "the provider's own limit"},
		{Name: "max_result_tokens", Doc: "The most tokens of a tool's result.", Value: count()},
	},
}

// Secrets are patterns of secrets.
var Secrets = Object{
	Name: "secrets", Doc: "Patterns of secrets beside the built-in ones.",
	Fields: []Field{{Name: "patterns", Doc: "Regular expressions (RE2) of secrets.", Value: namedSequence("a pattern", Value{Type: String, About: "regular expression"})}},
}

// Sandbox is the long form of sandbox.
var Sandbox = Object{
	Name: "sandbox", Doc: "The isolation of plugin processes.", Unknown: RefusedAll,
	Fields: []Field{
		{Name: "cpu", Doc: "The CPU time limit of each process, in seconds.", Value: Value{Type: Number, Above: bound(0), Most: bound(MaxCount)}},
		{Name: "max_violations", Doc: "How many tool calls of an attempt may be refused. One more ends it. Isolates nothing.", Value: integer(1, MaxCount), Default: "10"},
		{Name: "memory", Doc: "The most memory, at least 16M.", Value: size(16<<20, 1<<50)},
		{Name: "mode", Doc: "How strictly the process is isolated.", Value: ExactChoice(plan.SandboxModes()...)},
		{Name: "network", Doc: "The network access.", Value: AnyOf(ExactChoice(plan.Networks()...), boolean())},
		{Name: "processes", Doc: "The most processes.", Value: integer(1, MaxCount)},
		{Name: "read", Doc: "Paths that it may read beside the built-in ones.", Value: pathForms()},
		{Name: "write", Doc: "Paths that it may write.", Value: pathForms()},
	},
}

func pathForms() Value {
	path := Value{Type: String, Pattern: `[^\x00]*[^\s\x00][^\x00]*`, About: "path"}
	return AnyOf(path, Sequence(path))
}

// Guardrails limit running time.
var Guardrails = Object{
	Name: "guardrails", Doc: "A limit of running time, of a pipeline, a node or a stage.",
	Fields: []Field{{Name: "max_runtime_seconds", Doc: "How long it may run. Waiting for the user does not count.", Value: seconds(), Default: "no limit"}},
}
