package engine

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Survey is all that is known of a session, from one reading of its journal.
type Inspection struct {
	Status *Status
	// History and Metrics are nil and Artifacts empty where the session never began. Each is what the engine's method of that
	// name gives.
	History   *History
	Metrics   *Metrics
	Artifacts []ArtifactInfo
	// Plan is the plan that the session follows, one without nodes where none can be read. It is not to be changed.
	Plan *plan.Plan
}

// Survey tells of a session what [Engine.Status], [Engine.History], [Engine.Metrics] and [Engine.Artifacts] tell, and reads
// its journal once for all of them. tell, unless it is nil, is called with the plan before the journal is read, and what it
// returns with each event, in order. Of a session of the Bash engine the plan is known only afterwards: then tell is called
// once more with that, and all events come again. Survey takes no lock and starts nothing. The error wraps [ErrNoSession]
// if there is no such session; that it never began is no error.
func (e *Engine) Inspect(session string, tell func(p *plan.Plan) func(event.Event)) (*Inspection, error) {
	if tell == nil {
		tell = func(*plan.Plan) func(event.Event) { return func(event.Event) {} }
	}
	var t told
	var named collection
	var counted accounting
	begin := func(p *plan.Plan) func(event.Event) {
		count, hear := counted.begin(p), tell(p)
		return func(ev event.Event) {
			count(ev)
			hear(ev)
		}
	}
	dir, k, err := e.look(session, func(p *plan.Plan) func(event.Event) {
		hear := begin(p)
		return func(ev event.Event) {
			t.take(ev)
			named.take(ev)
			hear(ev)
		}
	})
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if counted.plan != k.plan {
		if err := k.retell(dir, begin(k.plan)); err != nil {
			return nil, err
		}
	}
	s := &Inspection{Plan: k.plan}
	if s.Status, err = e.statusOf(session, dir, k, &t); err != nil {
		return nil, err
	}
	if k.began() {
		s.History, s.Metrics, s.Artifacts = historyOf(session, k, counted.account), metricsOf(k.state, counted.account), named.artifacts(dir, k)
	}
	return s, nil
}
