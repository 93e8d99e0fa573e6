package lint

import (
	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// maxExample bounds an example in a prompt, in bytes.
const maxExample = 1 << 20

// checkExample checks the example in a prompt against the schema of the artifact that the prompt asks for. The example
// is the prompt's first fenced block of JSON or YAML. The example may lack required fields: a node may carry these over
// or measure them.
func checkExample(d yamldoc.Document, text []byte, contract *plan.Artifact) {
	if contract == nil || len(contract.Schema) == 0 {
		return
	}
	example, faults := artifact.Example(string(text), maxExample)
	if example == nil && len(faults) == 0 {
		return
	}
	if s, err := schema.Compile(contract.Schema); err == nil && example != nil { // the compiler has reported an invalid schema
		faults = s.Validate(example)
	}
	for _, f := range faults {
		if f.Code != schema.CodeMissing {
			d.Warnf(yamldoc.Pos{Line: 1, Column: 1}, yamldoc.CodeExample, "agents copy examples; write one that fits artifact.schema", "The example of the artifact does not fit its schema: %s", f)
		}
	}
}
