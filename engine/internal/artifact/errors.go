package artifact

import (
	"cmp"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// ContractError is the error of an artifact that is missing or violates its contract, or of an input that lacks
// required fields.
type ContractError struct {
	Faults []schema.Fault // at least one
	cause  *failure.Error
}

// Error returns the text of the failure, faults included.
func (b *ContractError) Error() string { return b.cause.Error() }

// Unwrap returns the failure.
func (b *ContractError) Unwrap() error { return b.cause }

// MissingError returns the error of an attempt without an artifact.
func (l Sources) MissingError(c *plan.Artifact) error {
	instructions := map[string]string{
		FromFile:   "write it to the path of ${ARTIFACT}, " + path.Base(l.Iteration.Artifact()) + " in the iteration's folder",
		FromResult: "write it as the member artifact of result.json",
		FromOutput: "end the reply with it in a fenced block of YAML or JSON",
	}
	instruction := cmp.Or(instructions[c.From], strings.Join([]string{instructions[FromFile], instructions[FromResult], instructions[FromOutput]}, ", or "))
	if tool := c.Tool(); tool != "" {
		instruction = "call the tool " + tool + " with it, or " + instruction
	}
	faults := []schema.Fault{{Path: "$", Code: schema.CodeMissing, Message: "is missing: " + strings.ReplaceAll(instruction, " to the path of ${ARTIFACT},", " to")}}
	f := failure.New(failure.ResultMissing, "the agent left no artifact").WithDetail(faultLines(faults)).WithHint("the prompt must ask the agent to %s", instruction)
	return &ContractError{faults, f}
}

// InvalidError returns the error of an artifact with faults.
func (f Candidate) InvalidError(faults []schema.Fault) error {
	e := invalidError("the artifact in "+f.From, faults)
	e.Retryable = true
	return &ContractError{faults, e.WithHint("raise artifact.heal of the node to let the agent repair the artifact more often, or correct artifact.schema")}
}

// InvalidError returns the error of a wrapped output with faults. name is the name of the output for messages; the
// output cannot be requested again.
func InvalidError(name string, faults []schema.Fault) error {
	return &ContractError{faults, invalidError(name, faults).WithHint("compare artifact.schema and wraps.output_mapping of the node with the output")}
}

func invalidError(name string, faults []schema.Fault) *failure.Error {
	all := faultLines(faults)
	return failure.New(failure.ResultInvalid, "%s is not what the contract says: %s", name, strings.ReplaceAll(strings.TrimRight(all, "\n"), "\n", "; ")).WithDetail(all)
}

// Bounds of the faults in events and prompts, in characters (REQUIREMENTS C6).
const (
	maxFaultData    = 2000 // of all faults
	maxFaultMessage = 500  // of a message, and of a path
)

// FaultData returns the faults for events and prompts: at most [event.MaxFaults], within 2000 characters.
func FaultData(faults []schema.Fault) []event.Fault {
	var data []event.Fault
	left := maxFaultData
	for _, f := range faults[:min(len(faults), event.MaxFaults)] {
		fault := event.Fault{Path: event.Truncate(f.Path, maxFaultMessage), Code: string(f.Code), Message: event.Truncate(f.Message, maxFaultMessage)}
		if left -= utf8.RuneCountInString(fault.Path + fault.Code + fault.Message); left < 0 && len(data) > 0 {
			break
		}
		data = append(data, fault)
	}
	return data
}
