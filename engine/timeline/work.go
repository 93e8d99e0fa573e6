package timeline

import (
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// addWork adds an event about iterations, attempts, decisions or questions.
func (t *Timeline) addWork(e *Entry) {
	at := e.Location
	at.Iteration = 0
	l := t.loops[at]
	if l == nil {
		l = &loop{}
	}
	e.Iteration = l.iteration
	switch e.Type {
	case event.IterationStart:
		t.loops[at] = l
		decode(e, func(d event.IterationStartData) { l.begin(e, d) })
		l.beginAttempt(e)
	case event.AttemptStart:
		t.loops[at] = l
		l.beginAttempt(e)
	case event.Retry:
		t.loops[at] = l
		l.beginAttempt(e)
		decode(e, func(d event.RetryData) { t.addRetry(e, d) })
	case event.IterationComplete:
		t.loops[at] = l
		t.addUsage(e, l)
		decode(e, func(d event.IterationCompleteData) { l.complete(e, d) })
	case event.AttemptComplete, event.StrategyAnswer:
		t.addUsage(e, l)
	case event.Error:
		t.addUsage(e, l)
		decode(e, func(d event.FailureData) { t.addFailure(e, d) })
	case event.Decision:
		decode(e, func(d event.DecisionData) {
			e.Decision = &d
			if it := e.Iteration; it != nil && it.Location.Iteration == e.Location.Iteration && d.Action != "ask" {
				it.Decision = &d
			}
		})
	case event.ParallelProviderComplete, event.ParallelProviderFailed:
		decode(e, func(d event.ProviderCompleteData) { e.Provider = &d })
	case event.NodeComplete:
		decode(e, func(d event.NodeCompleteData) { e.NodeEnd = &d })
	case event.KernelStart:
		decode(e, func(d event.KernelStartData) { t.unprotected = t.unprotected || d.Unprotected })
	case event.QuestionAsked:
		decode(e, func(d event.QuestionAskedData) {
			e.NewQuestion = &Question{QuestionAskedData: d, At: e.Time, Location: e.Location, Name: e.Name, Unprotected: t.unprotected}
			t.questions[d.ID] = e.NewQuestion
		})
	case event.QuestionAnswered:
		decode(e, func(d event.QuestionAnsweredData) {
			if q := t.questions[d.ID]; q != nil {
				q.Answer, q.AnsweredAt, e.Answered = &d, e.Time, q
				delete(t.questions, d.ID)
			}
		})
	}
}

// addRetry adds the retry that followed the last failure.
func (t *Timeline) addRetry(e *Entry, d event.RetryData) {
	e.Retry = &d
	if e.Iteration != nil && d.Rung != event.RungStage {
		e.Iteration.Attempts++
	}
	if t.failure != nil {
		t.failure.Retry = &d
	}
}

func (t *Timeline) addFailure(e *Entry, d event.FailureData) {
	if it := e.Iteration; it != nil && it.End.IsZero() {
		it.Failure, it.FailedAt = &d, e.Time
	}
	e.Failure = &Failure{FailureData: d, At: e.Time, Location: e.Location, Name: e.Name}
	e.Failure.Attempt = max(d.Attempt, e.Attempt)
	t.failure = e.Failure
}

// addUsage counts an attempt or a strategy's question that has ended, and its consumption. The keys show that the end
// of an iteration under a contract, or a failure outside an attempt, is not an attempt. A failed attempt that neither
// began nor consumed anything had no budget, and does not count.
func (t *Timeline) addUsage(e *Entry, l *loop) {
	isQuestion, kind := e.Type == event.StrategyAnswer, e.Key.Kind()
	if !isQuestion && kind != event.KeyAttempt && (kind != "" || e.RunID != "") {
		return
	}
	d, err := event.Decode[struct {
		Usage *event.Usage `json:"usage"`
	}](e.Event)
	if err != nil || e.Type == event.Error && kind == event.KeyAttempt && !l.attempts[e.Key] && d.Usage == nil {
		return
	}
	e.Usage = d.Usage
	if e.Iteration != nil {
		e.Iteration.Usage = e.Iteration.Usage.Plus(d.Usage)
	}
	if e.Cursor == nil || t.last[e.Cursor.NodePath] == nil {
		return
	}
	for path := e.Cursor.NodePath; path != ""; path = path[:max(strings.LastIndexByte(path, '.'), 0)] { // the node and the nodes that embed it
		if v := t.last[path]; v != nil {
			if !isQuestion {
				v.Attempts++
			}
			v.use(d.Usage)
		}
	}
}

// addVisit adds an event to the visit of its node.
func (t *Timeline) addVisit(e Entry) {
	if e.Cursor == nil {
		return
	}
	switch e.Type {
	case event.NodeStart:
		t.beginVisit(e, string(state.NodeRunning))
	case event.NodeComplete:
		t.endVisit(e)
	case event.IterationStart, event.AttemptStart:
		t.visit(e)
	case event.Retry:
		t.countRetry(e)
	case event.IterationComplete:
		if v := t.visit(e); v != nil && (v.Steps == nil || e.Cursor.Step != "") {
			v.Iterations++
		}
	case event.QuestionAsked:
		// A visit that waits for the user, or that a restart ends, gets its reason only here.
		if v := t.last[e.Cursor.NodePath]; e.NewQuestion != nil && v != nil && v.EndedAt == nil && e.NewQuestion.Kind == event.QuestionEscalation {
			v.Reason = e.NewQuestion.Text
		}
	case event.StepsPlanned, event.StepStart, event.StepComplete, event.StepBlocked:
		t.addStep(e)
	case event.CheckResult:
		t.addCheck(e)
	case event.ContextBuilt:
		d, err := event.Decode[event.ContextBuiltData](e.Event)
		if v := t.last[e.Cursor.NodePath]; err == nil && v != nil {
			v.Prompt = longerPrompt(v.Prompt, &Prompt{d.Tokens, d.Limit})
		}
	}
}

// beginVisit begins a visit.
func (t *Timeline) beginVisit(e Entry, status string) *Visit {
	path := e.Cursor.NodePath
	t.count[path]++
	v := &Visit{Stage: t.nodeID(path), Path: path, Visit: t.count[path], Run: e.Cursor.Run, StartedAt: e.Time, End: End{Status: status}}
	if before := t.last[path]; before != nil && before.EndedAt == nil {
		end := e.Time
		before.EndedAt, before.Status = &end, Restarted
	}
	t.visits = append(t.visits, v)
	t.last[path] = v
	return v
}

// nodeID returns the id of the node at a path, or the path itself for an end such as done or failed.
func (t *Timeline) nodeID(path string) string {
	if n := t.plan.Find(path); n != nil {
		return n.ID
	}
	return path
}

func (t *Timeline) endVisit(e Entry) {
	d := e.NodeEnd
	if d == nil {
		return
	}
	v := t.last[e.Cursor.NodePath]
	if v == nil || v.EndedAt != nil { // the node is skipped
		v = t.beginVisit(e, d.Status)
	}
	end := e.Time // &e.Time would keep all of e
	v.EndedAt, v.End = &end, End{d.Status, d.Outcome, d.Reason, t.nodeID(d.To), d.Edge, d.Cycle, d.Limit}
	t.cycles.add(*d)
}

// visit returns the visit that an event about work belongs to, nil if there is none. A visit that had ended
// continues, because a resume has continued its failed node.
func (t *Timeline) visit(e Entry) *Visit {
	v := t.last[e.Cursor.NodePath]
	if v == nil || v.EndedAt == nil {
		return v
	}
	v.idleTime += max(0, e.Time.Sub(*v.EndedAt))
	v.EndedAt, v.End = nil, End{Status: string(state.NodeRunning)}
	return v
}

func (t *Timeline) countRetry(e Entry) {
	v := t.visit(e)
	switch d := e.Retry; {
	case d == nil || v == nil:
	case d.Rung == event.RungStage:
		v.StageRetries++
	case d.Rung == event.RungArtifact:
		v.ArtifactRetries++
	default:
		v.Retries++
	}
}

func (t *Timeline) addStep(e Entry) {
	v := t.visit(e)
	d, err := event.Decode[struct {
		Step   string           `json:"step"`
		Status string           `json:"status"`
		Count  int              `json:"of"`
		Done   int              `json:"done"`
		Steps  []event.StepData `json:"steps"`
	}](e.Event)
	if err != nil || v == nil {
		return
	}
	if v.Steps == nil {
		v.Steps, v.steps = &Steps{}, map[string]string{}
	}
	v.Steps.Count = max(v.Steps.Count, d.Count, len(d.Steps))
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

func (t *Timeline) addCheck(e Entry) {
	v := t.visit(e)
	d, err := event.Decode[event.CheckResultData](e.Event)
	if err != nil || v == nil {
		return
	}
	if d.Code != "" {
		v.Cheats++
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
	v.Checks = slices.Clone(v.Checks) // readers have copies of the visit
	v.Checks[at] = c
}
