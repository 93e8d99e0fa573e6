package dialect

import "github.com/dodo-digital/agent-pipelines/kernel/plan"

// Artifact is the contract of a node's artifact.
var Artifact = Object{
	Name: "artifact", Doc: "The contract of a node's artifact, which later nodes read.",
	Fields: []Field{
		{Name: "type", Doc: "The type of the artifact, for readers.", Value: AnyText()},
		{Name: "version", Doc: "The version of the type.", Value: AnyText()},
		{Name: "schema", Doc: "A JSON Schema (draft 2020-12) of the artifact: inline, or the path of a file, relative to the directory of this file.", Value: AnyOf(Value{Type: String, About: "path"}, Value{Type: MapOf, Item: &anyValue, PassThrough: true, About: "JSON Schema"}, boolean())},
		{Name: "from", Doc: "Its preferred source; tool:<name> is the arguments of the last call of that tool.", Value: AnyOf(choice("file", "output", "result"), Value{Type: String, Pattern: plan.ToolPrefix + `[A-Za-z0-9_.:/-]{1,128}\n*`, About: "`tool:<name>`"}), Default: "file, then result, then output"},
		{Name: "carry", Doc: "Fields to copy from the input artifact if the node's own artifact lacks them.", Value: fieldNames(), Hint: fieldHint},
		{Name: "defaults_from", Doc: "Fields to fill if the node is skipped, each with its source field.", Value: Value{Type: MapOf, Item: &fieldNameValue, Noun: "field"}, Hint: fieldHint},
		{Name: "kernel_fields", Doc: "Fields to fill with results of checks, as checks.<id>.counts.", Value: MapTo(AnyText())},
		{Name: "verdict", Doc: "The outcome for each value of a field.", Value: NestedObject(&Verdict)},
		{Name: "heal", Doc: "How often the agent is asked again, at once, for a missing or invalid artifact.", Value: integer(0, plan.MaxHeal), Default: "1"},
		{Name: "max_bytes", Doc: "The maximum size of the artifact.", Value: size(1, plan.MaxMaxBytes), Default: "10M"},
	},
}

var (
	anyValue       = anything()
	fieldNameValue = fieldName()
)

// size describes a number of bytes, with an optional K, M, G or T.
func size(from, to float64) Value {
	return Value{Type: Size, Least: &from, Most: &to, About: "bytes, as `512K` or `32M`"}
}

// Verdict maps the values of a field to outcomes.
var Verdict = Object{
	Name: "verdict", Doc: "The outcome for each value of a field of the artifact.",
	Fields: []Field{
		{Name: "field", Doc: "The field.", Value: AnyText(), Required: true},
		{Name: "map", Doc: "Its values, each with an outcome.", Value: nonEmpty(Value{Type: MapOf, Item: &verdictOutcome, Noun: "outcome"}), Required: true, Hint: "map values to outcomes: map: {pass: success, fail: fail}"},
	},
}

var verdictOutcome = choice(outcomeWords()...)

// outcomes are all outcomes, each with its meaning.
var outcomes = []struct {
	outcome plan.Outcome
	when    string
}{
	{plan.OutcomeSuccess, "the node succeeds"},
	{plan.OutcomeFail, "the node's work is measured or judged to be wrong"},
	{plan.OutcomeReject, "a reviewer rejects the work"},
	{plan.OutcomeRetry, "the node must be repeated"},
	{plan.OutcomeTimeout, "the node takes too long"},
	{plan.OutcomeError, "an error occurs"},
	{plan.OutcomeEscalate, "the user is needed"},
	{plan.OutcomeSkip, "the node is skipped"},
	{plan.OutcomeBudget, "a limit of tokens or cost is reached"},
}

func outcomeWords() []plan.Outcome {
	words := make([]plan.Outcome, len(outcomes))
	for i, o := range outcomes {
		words[i] = o.outcome
	}
	return words
}
