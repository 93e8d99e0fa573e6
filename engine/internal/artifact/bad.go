package artifact

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Bad is an artifact that is missing or not what the contract says, as an error.
type Bad struct {
	Faults []schema.Fault // at least one
	cause  *failure.Error
}

// Error says all that is wrong with it.
func (b *Bad) Error() string { return b.cause.Error() }

// Unwrap is the failure that it comes to.
func (b *Bad) Unwrap() error { return b.cause }

// Missing is the error about an attempt that left no artifact at the places of its contract.
func (l Left) Missing(c *plan.Artifact) error {
	where := map[string]string{
		FromFile:   "write it to the path of ${ARTIFACT}, " + path.Base(l.Iteration.Artifact()) + " in the iteration's folder",
		FromResult: "write it as the member artifact of result.json",
		FromOutput: "end the reply with it in a fenced block of YAML or JSON",
	}
	say := cmp.Or(where[c.From], strings.Join([]string{where[FromFile], where[FromResult], where[FromOutput]}, ", or "))
	if tool := c.Tool(); tool != "" {
		say = "call the tool " + tool + " with it, or " + say
	}
	faults := []schema.Fault{{Path: "$", Code: schema.CodeMissing, Message: "is missing: " + strings.ReplaceAll(say, " to the path of ${ARTIFACT},", " to")}}
	f := failure.New(failure.ResultMissing, "the agent left no artifact").WithDetail(lines(faults)).WithHint("the prompt has to tell the agent to %s", say)
	return &Bad{faults, f}
}

// Invalid is the error about what was found that has faults.
func (f Found) Invalid(faults []schema.Fault) error {
	all := lines(faults)
	e := failure.New(failure.ResultInvalid, "the artifact in %s is not what the contract says: %s", f.From, strings.ReplaceAll(strings.TrimRight(all, "\n"), "\n", "; "))
	e.Retryable = true
	return &Bad{faults, e.WithDetail(all).WithHint("the agent is told the faults and asked again as often as artifact.heal of the node says; artifact.schema says what is expected")}
}

// maxLines bounds the text of all faults, in bytes.
const maxLines = 64 << 10

// lines are faults as an agent and a person read them.
func lines(faults []schema.Fault) string {
	var b strings.Builder
	for i, f := range faults {
		if b.Len() > maxLines {
			fmt.Fprintf(&b, "… and %d more\n", len(faults)-i)
			break
		}
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}

// Bounds of what an agent is told of faults, in characters (REQUIREMENTS C6).
const (
	maxTold  = 2000 // of all faults
	maxFault = 500  // of a message, and of a path
)

// Told are the faults that events carry and agents are told: at most [event.MaxFaults], within 2000 characters.
func FaultData(faults []schema.Fault) []event.Fault {
	var told []event.Fault
	room := maxTold
	for _, f := range faults[:min(len(faults), event.MaxFaults)] {
		t := event.Fault{Path: event.Truncate(f.Path, maxFault), Code: string(f.Code), Message: event.Truncate(f.Message, maxFault)}
		if room -= utf8.RuneCountInString(t.Path + t.Code + t.Message); room < 0 && len(told) > 0 {
			break
		}
		told = append(told, t)
	}
	return told
}
