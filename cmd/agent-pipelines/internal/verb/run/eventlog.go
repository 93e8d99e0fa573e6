package run

import (
	"cmp"
	"encoding/json"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// eventLogger logs the events of a session if the log level is info or lower: errors at level error, informative events at
// level debug, all other events at level info.
type eventLogger struct{ log hclog.Logger }

// observe logs the event of an update without the texts of agents.
func (r eventLogger) observe(u engine.Update) {
	if u.Event == nil || r.log.GetLevel() > hclog.Info { // the view shows the events to the user
		return
	}
	level := hclog.Info
	switch e := u.Event; {
	case e.Type == event.Error:
		level = hclog.Error
	case e.Type.Informative():
		level = hclog.Debug
	}
	if r.log.GetLevel() > level {
		return
	}
	r.log.Log(level, string(u.Event.Type), eventFields(u.Plan, *u.Event)...)
}

// eventFields returns the log fields of an event (REQUIREMENTS U229).
func eventFields(p *plan.Plan, e event.Event) []any {
	fields := []any{"event_type", string(e.Type), "session", e.Session, "seq", e.Seq}
	path, provider, iteration := "", "", 0
	if _, loc, _, ok := e.Key.Parse(); ok {
		path, iteration = loc.Node, loc.Iteration
	}
	if e.Cursor != nil {
		path = cmp.Or(path, e.Cursor.NodePath)
		provider, iteration = e.Cursor.Provider, max(iteration, e.Cursor.Iteration)
	}
	if p != nil {
		if n := p.Find(path); n != nil {
			fields = append(fields, "stage", n.ID)
			if provider == "" && n.Provider != nil {
				provider = n.Provider.Type
			}
		}
	}
	if iteration > 0 {
		fields = append(fields, "iteration", iteration)
	}
	if e.Attempt > 0 {
		fields = append(fields, "attempt", e.Attempt)
	}
	if provider != "" {
		fields = append(fields, "provider", provider)
	}
	var d struct {
		DurationMS *int64 `json:"duration_ms"`
		ErrorType  string `json:"error_type"`
		Message    string `json:"message"`
	}
	if json.Unmarshal(e.Data, &d) == nil {
		if d.DurationMS != nil {
			fields = append(fields, "duration_ms", *d.DurationMS)
		}
		if e.Type == event.Error {
			fields = append(fields, "error", d.Message, "error_type", d.ErrorType)
		}
	}
	return fields
}
