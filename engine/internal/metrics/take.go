package metrics

import (
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func (a *Collector) take(e event.Event) {
	if e.Type == event.RunStart { // the whole pipeline once more: its nodes are entered for the first time again
		a.count = map[string]int{}
	}
	if e.Cursor == nil {
		return
	}
	switch e.Type {
	case event.NodeRunStart: // and so for those of a nested one, but not of one inside another, whose runs do not count
		if a.plan.Embedder(e.Cursor.NodePath) == "" {
			maps.DeleteFunc(a.count, func(path string, _ int) bool { return strings.HasPrefix(path, e.Cursor.NodePath+".") })
		}
	case event.NodeStart:
		a.add(e, string(state.NodeRunning))
	case event.NodeComplete:
		a.leave(e)
	case event.IterationStart, event.AttemptStart:
		a.at(e)
		a.begins(e.Key)
	case event.Retry:
		a.retried(e)
		a.begins(e.Key)
	case event.IterationComplete:
		if v := a.at(e); v != nil && (v.Steps == nil || e.Cursor.Step != "") {
			v.Iterations++
		}
		a.attempted(e)
	case event.AttemptComplete, event.Error, event.StrategyAnswer:
		a.attempted(e)
	case event.QuestionAsked:
		a.asked(e)
	case event.StepsPlanned, event.StepStart, event.StepComplete, event.StepBlocked:
		a.step(e)
	case event.CheckResult:
		a.check(e)
	case event.ContextBuilt:
		d, err := event.Decode[event.ContextBuiltData](e)
		if v := a.last[e.Cursor.NodePath]; err == nil && v != nil {
			v.Prompt = longer(v.Prompt, &Prompt{d.Tokens, d.Limit})
		}
	}
}

// add begins a visit.
func (a *Collector) add(e event.Event, status string) *Visit {
	path := e.Cursor.NodePath
	a.count[path]++
	v := &Visit{Stage: a.idOf(path), Path: path, Visit: a.count[path], Run: e.Cursor.Run, StartedAt: e.Time, Status: status}
	if before := a.last[path]; before != nil && before.EndedAt == nil {
		before.EndedAt, before.Status = &e.Time, Restarted
	}
	a.visits = append(a.visits, v)
	a.last[v.Path] = v
	return v
}

// idOf is the id of the node at a path, or the word itself: done, failed and the like.
func (a *Collector) idOf(path string) string {
	if n := a.plan.Find(path); n != nil {
		return n.ID
	}
	return path
}

func (a *Collector) leave(e event.Event) {
	d, err := event.Decode[event.NodeCompleteData](e)
	if err != nil {
		return
	}
	v := a.last[e.Cursor.NodePath]
	if v == nil || v.EndedAt != nil { // one that was passed over
		v = a.add(e, d.Status)
	}
	v.EndedAt, v.Status, v.Outcome, v.Reason = &e.Time, d.Status, d.Outcome, d.Reason
	v.To, v.Edge, v.Cycle, v.Limit = a.idOf(d.To), d.Edge, d.Cycle, d.Limit
	a.cycles.add(d)
}

// at is the visit that an event of some work belongs to, nil if there is none. One that had ended goes on: a resume
// took a failed node up again.
func (a *Collector) at(e event.Event) *Visit {
	v := a.last[e.Cursor.NodePath]
	if v == nil || v.EndedAt == nil {
		return v
	}
	v.idle += max(0, e.Time.Sub(*v.EndedAt))
	v.EndedAt, v.Status, v.Outcome, v.Reason, v.To, v.Edge, v.Cycle, v.Limit = nil, string(state.NodeRunning), "", "", "", "", 0, 0
	return v
}

func (a *Collector) retried(e event.Event) {
	d, err := event.Decode[event.RetryData](e)
	v := a.at(e)
	switch {
	case err != nil || v == nil:
	case d.Rung == event.RungStage:
		v.StageRetries++
	case d.Rung == event.RungArtifact:
		v.Heals++
	default:
		v.Retries++
	}
}

// asked keeps why a person was needed: a visit that waits for one, or was entered anew after it, has no other reason.
func (a *Collector) asked(e event.Event) {
	d, err := event.Decode[event.QuestionAskedData](e)
	if v := a.last[e.Cursor.NodePath]; err == nil && v != nil && v.EndedAt == nil && d.Kind == event.QuestionEscalation {
		v.Reason = d.Text
	}
}

// attempted counts an attempt, or a question of a strategy, that has ended, and what it used. The end of an iteration
// under a contract is no attempt, and neither is a failure outside of one: their keys tell. One for which there was not
// enough left fails without having begun.
func (a *Collector) attempted(e event.Event) {
	kind := e.Key.Kind()
	asked := e.Type == event.StrategyAnswer
	if v := a.last[e.Cursor.NodePath]; v == nil || !asked && kind != event.KeyAttempt && (kind != "" || e.RunID != "") {
		return
	}
	if e.Type == event.Error && kind == event.KeyAttempt && !a.hasBegun(e.Key) {
		return
	}
	d, err := event.Decode[struct {
		Usage *event.Usage `json:"usage"`
	}](e)
	if err != nil {
		return
	}
	for _, v := range a.around(e.Cursor.NodePath) {
		if !asked {
			v.Attempts++
		}
		v.use(d.Usage)
	}
}

// around are the visit under way at a path and those of the pipelines that embed it.
func (a *Collector) around(path string) []*Visit {
	var all []*Visit
	for path != "" {
		if v := a.last[path]; v != nil {
			all = append(all, v)
		}
		i := strings.LastIndexByte(path, '.')
		path = path[:max(i, 0)]
	}
	return all
}

func (w *Work) use(u *event.Usage) {
	if u == nil {
		u = &event.Usage{}
	}
	if u.InputTokens == nil && u.OutputTokens == nil {
		w.UnknownTokens++
	}
	if u.CostUSD == nil {
		w.UnknownCost++
	}
	w.Usage = w.Usage.Plus(u)
}

func (a *Collector) step(e event.Event) {
	v := a.at(e)
	d, err := event.Decode[struct {
		Step   string           `json:"step"`
		Status string           `json:"status"`
		Of     int              `json:"of"`
		Done   int              `json:"done"`
		Steps  []event.StepData `json:"steps"`
	}](e)
	if err != nil || v == nil {
		return
	}
	if v.Steps == nil {
		v.Steps, v.steps = &Steps{}, map[string]string{}
	}
	v.Steps.Of = max(v.Steps.Of, d.Of, len(d.Steps))
	switch e.Type {
	case event.StepStart:
		delete(v.steps, d.Step)
	case event.StepComplete:
		v.steps[d.Step] = d.Status
		v.Steps.Done = d.Done
	case event.StepBlocked:
		v.steps[d.Step] = string(state.StepBlocked)
	}
	v.Steps.Failed, v.Steps.Blocked = 0, 0
	for _, status := range v.steps {
		switch state.StepStatus(status) {
		case state.StepFailed:
			v.Steps.Failed++
		case state.StepBlocked:
			v.Steps.Blocked++
		}
	}
}

func (a *Collector) check(e event.Event) {
	v := a.at(e)
	d, err := event.Decode[event.CheckResultData](e)
	if err != nil || v == nil {
		return
	}
	c := Check{ID: d.ID, At: d.At, Passed: d.Passed, Reason: d.Reason, Counts: d.Counts}
	if d.Failure != nil && c.Reason == "" {
		c.Reason = d.Failure.Message
	}
	at := slices.IndexFunc(v.Checks, func(old Check) bool { return old.ID == c.ID && old.At == c.At })
	if at < 0 {
		v.Checks = append(v.Checks, c)
		return
	}
	v.Checks = slices.Clone(v.Checks) // copies of it are with readers
	v.Checks[at] = c
}
