package dialect

import "github.com/dodo-digital/agent-pipelines/kernel/plan"

// Artifact is what a node's work must come to.
var Artifact = Object{
	Name: "artifact", Doc: "What the work of a node must come to, for other nodes.",
	Keys: []Field{
		{Name: "type", Doc: "What it is, for whoever reads it.", Value: text()},
		{Name: "version", Doc: "The version of what it is.", Value: text()},
		{Name: "schema", Doc: "A JSON Schema (draft 2020-12) that it must fit: here, or the path of a file, from the folder of this one.", Value: formsOf(Value{Type: String, About: "path"}, Value{Type: MapOf, Item: &anyValue, PassThrough: true, About: "JSON Schema"}, boolean())},
		{Name: "from", Doc: "Where it is looked for first; tool:<name> is the arguments of the last call of that tool.", Value: formsOf(choice("file", "output", "result"), Value{Type: String, Pattern: plan.ToolPrefix + `[A-Za-z0-9_.:/-]{1,128}\n*`, About: "`tool:<name>`"}), Default: "file, then result, then output"},
		{Name: "carry", Doc: "Fields that are copied from what the node was handed, where its own artifact lacks them.", Value: fieldNames()},
		{Name: "defaults_from", Doc: "When the node is skipped: fields, each with the field that it is filled from.", Value: Value{Type: MapOf, Item: &fieldNameValue}},
		{Name: "kernel_fields", Doc: "Fields that are filled in with what was measured, as checks.<id>.counts.", Value: mapOf(text())},
		{Name: "verdict", Doc: "Which value of a field means which outcome.", Value: nested(&Verdict)},
		{Name: "heal", Doc: "How often an agent is asked again, at once, for an artifact that is missing or does not fit.", Value: integer(0, plan.MaxHeal), Default: "1"},
		{Name: "max_bytes", Doc: "The size of the largest artifact.", Value: size(1, plan.MaxMaxBytes), Default: "10M"},
	},
	rules: []schema{{"minProperties": 1}},
}

var (
	anyValue       = anything()
	fieldNameValue = fieldName()
)

// size is a number of bytes, or one with K, M, G or T behind it.
func size(from, to float64) Value {
	return Value{Type: Size, Least: &from, Most: &to, About: "bytes, as `512K` or `32M`"}
}

// Verdict says which value of a field means which outcome.
var Verdict = Object{
	Name: "verdict", Doc: "Which value of a field of the artifact means which outcome.",
	Keys: []Field{
		{Name: "field", Doc: "The field.", Value: text(), Required: true},
		{Name: "map", Doc: "Its values, each with the outcome that it means.", Value: nonEmpty(Value{Type: MapOf, Item: &verdictOutcome}), Required: true},
	},
}

var verdictOutcome = choice(outcomeWords()...)

// Outcomes are the words for how a node ends.
func Outcomes() []string { return Verdict.Words("map") }
