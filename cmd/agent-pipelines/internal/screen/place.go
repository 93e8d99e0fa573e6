package screen

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

const modeLoop = "loop"

// maximum is the reason of a node that used all its iterations.
const maximum = "max_iterations"

// place is an update with its node, nil for none.
type place struct {
	engine.Update
	node    *plan.Node
	verbose bool    // see [Renderer]
	remedy  *string // of the last failure
}

func (p place) loop() bool { return p.State.Mode == modeLoop }

// render is a function that returns the lines for an event.
type render func(place) []string

// decoded returns a render that calls lines with the payload of an event. An event whose payload cannot be decoded has no
// lines.
func decoded[T any](lines func(place, T) []string) render {
	return func(at place) []string {
		d, err := event.Decode[T](*at.Event)
		if err != nil {
			return nil
		}
		return lines(at, d)
	}
}

// block reports whether the node is a parallel block.
func (p place) block() bool { return p.node != nil && p.node.Kind == plan.KindParallel }

// branch returns the provider of an event in a block, "" for none.
func (p place) branch() string {
	if p.Event.Cursor == nil {
		return ""
	}
	return p.Event.Cursor.Provider
}

// branchPrefix returns the beginning of a line about a provider of a block, else "".
func (p place) branchPrefix() string {
	if id := p.branch(); id != "" {
		return id + ": "
	}
	return ""
}

// stage returns the stage of a block for an event of one of its iterations, nil if there is none.
func (p place) stage() *plan.Node {
	_, at, _, ok := p.Event.Key.Parse()
	if !ok {
		return nil
	}
	return p.Plan.Find(at.Node)
}

// inRun returns the number of the current run of the pipeline, "" if there is one run.
func inRun(at place) string {
	if at.State.Runs < 2 {
		return ""
	}
	return fmt.Sprintf(" (run %d of %d)", at.State.Run, at.State.Runs)
}

// NodeProvider returns the provider of a node as text: "claude, model opus".
func NodeProvider(n *plan.Node) string {
	if n.Provider == nil {
		return "none"
	}
	if n.Provider.Model == "" {
		return n.Provider.Type
	}
	return n.Provider.Type + ", model " + n.Provider.Model
}

// orchestrator is the role in lines that concern no single stage.
const orchestrator = "ORCHESTRATOR"

// withRole puts a role before lines.
func withRole(role string, lines ...string) []string {
	for i := range lines {
		lines[i] = "[" + role + "] " + lines[i]
	}
	return lines
}

// role returns the role of a node's stage in upper case, else its id.
func role(n *plan.Node) string { return strings.ToUpper(Clean(cmp.Or(n.Role, n.ID))) }

// repeatsFailure reports whether the end of a node repeats the failure of its last attempt.
func repeatsFailure(d event.NodeCompleteData) bool {
	return d.Failure != nil && d.Failure.Attempt > 0 && d.Reason == d.Failure.Message
}
