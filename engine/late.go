package engine

import (
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// maxGivenUp is how many late deliveries and superseded attempts a [Status] has.
const maxGivenUp = 50

// Late is what an attempt of a session delivered after it was given up, and what became of that.
type Late struct {
	Stage     string `json:"stage,omitempty"` // id of the node
	Iteration int    `json:"iteration,omitempty"`
	event.LateDeliveryData
}

// Superseded is an attempt of a session that was made again, with what changed in the workspace meanwhile.
type Superseded struct {
	Stage     string `json:"stage,omitempty"` // id of the node
	Iteration int    `json:"iteration,omitempty"`
	event.AttemptSupersededData
}

// givenUp are the events of the last late deliveries and superseded attempts of the last run.
type givenUp struct{ late, superseded []event.Event }

func (g *givenUp) take(e event.Event) {
	switch e.Type {
	case event.SessionStart:
		*g = givenUp{}
	case event.LateDelivery:
		g.late = lastOf(g.late, e)
	case event.AttemptSuperseded:
		g.superseded = lastOf(g.superseded, e)
	}
}

// lastOf are the last [maxGivenUp] events with the next one.
func lastOf(events []event.Event, e event.Event) []event.Event {
	if len(events) == maxGivenUp {
		events = slices.Delete(events, 0, 1)
	}
	return append(events, e)
}

// of says what they tell of a session that follows the plan.
func (g *givenUp) of(p *plan.Plan) (late []Late, superseded []Superseded) {
	for _, e := range g.late {
		if d, err := event.Decode[event.LateDeliveryData](e); err == nil {
			stage, iteration := whereIs(p, e)
			late = append(late, Late{stage, iteration, d})
		}
	}
	for _, e := range g.superseded {
		if d, err := event.Decode[event.AttemptSupersededData](e); err == nil {
			stage, iteration := whereIs(p, e)
			superseded = append(superseded, Superseded{stage, iteration, d})
		}
	}
	return late, superseded
}

// whereIs is the id of the node and the iteration that an event is about.
func whereIs(p *plan.Plan, e event.Event) (stage string, iteration int) {
	_, at, _, ok := e.Key.Parse()
	if !ok {
		return "", 0
	}
	if n := p.Find(at.Node); n != nil {
		stage = n.ID
	}
	return stage, at.Iteration
}
