package trace

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// handlers has the effect of each type of event on the spans. Informative events never open or end a span, because they
// may arrive in another order than in the journal.
var handlers = map[event.Type]func(*SpanBuilder, event.Event){
	event.NodeStart:                ofVisit((*SpanBuilder).visitBegan),
	event.NodeComplete:             ofVisit((*SpanBuilder).visitEnded),
	event.ParallelProviderComplete: ofVisit((*SpanBuilder).branchEnded),
	event.ParallelProviderFailed:   ofVisit((*SpanBuilder).branchEnded),
	event.StepComplete:             ofVisit((*SpanBuilder).stepEnded),
	event.IterationStart:           decoded((*SpanBuilder).iterationBegan),
	event.AttemptStart:             (*SpanBuilder).attempt,
	event.Retry:                    decoded((*SpanBuilder).retried),
	event.AttemptComplete:          func(b *SpanBuilder, e event.Event) { b.attemptEnded(e, "") },
	event.IterationComplete:        decoded((*SpanBuilder).iterationEnded),
	event.Error:                    decoded((*SpanBuilder).failed),
	event.Decision:                 decoded((*SpanBuilder).decided),
	event.StrategyQuestion:         decoded((*SpanBuilder).questionAsked),
	event.StrategyAnswer:           decoded((*SpanBuilder).questionAnswered),
	event.HookStart:                decoded((*SpanBuilder).hook),
	event.HookComplete:             decoded((*SpanBuilder).hookEnded),
	event.HookTimeout:              decoded((*SpanBuilder).hookEnded),
	event.CheckResult:              decoded((*SpanBuilder).check),
	event.ToolCall:                 decoded((*SpanBuilder).tool),
	event.ToolResult:               decoded((*SpanBuilder).toolEnded),
	event.QuestionAsked:            decoded((*SpanBuilder).userAsked),
	event.QuestionAnswered:         decoded((*SpanBuilder).userAnswered),
}

// mentioned lists the types of events that a span contains as events without attributes.
var mentioned = []event.Type{
	event.PluginCrashed, event.BudgetWarning, event.StageTimeout, event.ArtifactInvalid,
	event.LateDelivery, event.MessageRefused, event.SurvivorEnded, event.SessionPaused, event.SessionResumed, event.Control,
}

// Apply adds the next event, with the session's plan and, for events that change the state, the state after the event.
// Events of a fenced kernel do not count.
func (b *SpanBuilder) Apply(e event.Event, st *state.State, p *plan.Plan) {
	if e.RunID != "" && e.RunID != b.run {
		b.endSpans(b.latest, "")
		b.reset(e.RunID)
	}
	if b.run == "" || e.Epoch != 0 && e.Epoch < b.epoch {
		return
	}
	if e.Epoch > b.epoch {
		b.crashed()
		b.epoch = e.Epoch
	}
	if p != nil {
		b.plan = p
	}
	if st != nil {
		b.state = st
	}
	if e.Type == event.SessionImported { // the earlier events are not reliable
		b.endSpans(b.latest, interrupted)
	}
	running := b.state != nil && b.state.Status == state.Running
	if b.top == nil && running {
		b.begin(e)
	}
	if b.top != nil {
		if handle, ok := handlers[e.Type]; ok {
			handle(b, e)
		} else if slices.Contains(mentioned, e.Type) {
			b.nearest(e.Key).addEvent(string(e.Type), e.Time)
		}
		b.latest = e.Time
		b.top.extend(e.Time)
	}
	if b.top != nil && b.state != nil && !running && b.state.Status != state.Pending {
		b.endSpans(e.Time, interrupted)
	}
}

// decoded returns a handler that passes the payload of an event to handle; a payload that cannot be decoded is zero.
func decoded[T any](handle func(*SpanBuilder, event.Event, T)) func(*SpanBuilder, event.Event) {
	return func(b *SpanBuilder, e event.Event) {
		d, _ := event.Decode[T](e)
		handle(b, e, d)
	}
}

// ofVisit returns a handler that also passes the location of the visit, for events without a key.
func ofVisit[T any](handle func(*SpanBuilder, event.Event, event.Location, T)) func(*SpanBuilder, event.Event) {
	return decoded(func(b *SpanBuilder, e event.Event, d T) {
		if place, ok := b.visitLocation(e); ok {
			handle(b, e, place, d)
		}
	})
}

func (b *SpanBuilder) visitBegan(e event.Event, place event.Location, _ struct{}) {
	b.node(place, e.Time)
}

// visitEnded ends a visit. A skipped node has a span without length.
func (b *SpanBuilder) visitEnded(e event.Event, place event.Location, d event.NodeCompleteData) {
	o := b.node(place, e.Time)
	o.addAttributes(KeyOutcome.String(d.Outcome), keyTo.String(b.nodeName(d.To)), keyEdge.String(d.Edge))
	if d.Cycle > 0 {
		o.addAttributes(keyCycle.Int(d.Cycle))
	}
	b.end(o, e.Time, errorType(d.Status == "failed", d.Failure, "failed"), interrupted)
}

// nodeName returns the id of the node at a path, or the argument itself.
func (b *SpanBuilder) nodeName(to string) string {
	if n := b.plan.Find(to); n != nil {
		return n.ID
	}
	return to
}

// errorType returns the error of a span, "" unless it failed; other is the error of a failure without a type.
func errorType(failed bool, f *event.FailureData, other string) string {
	switch {
	case !failed:
		return ""
	case f == nil:
		return other
	default:
		return cmp.Or(f.ErrorType, other)
	}
}

func (b *SpanBuilder) branchEnded(e event.Event, place event.Location, d event.ProviderCompleteData) {
	place.Branch = d.Provider
	if o := b.spans[place.Key(event.KeyNode, 1)]; o != nil {
		b.end(o, e.Time, errorType(e.Type == event.ParallelProviderFailed, d.Failure, "failed"), interrupted)
	}
}

func (b *SpanBuilder) stepEnded(e event.Event, place event.Location, d event.StepCompleteData) {
	place.Step = d.Step
	o := b.part(place, e.Time)
	o.addAttributes(KeyStatus.String(d.Status))
	b.end(o, e.Time, errorType(d.Status == "failed", d.Failure, "failed"), interrupted)
}

func (b *SpanBuilder) iterationBegan(e event.Event, d event.IterationStartData) {
	_, place, _, ok := e.Key.Parse()
	if !ok {
		return
	}
	o := b.iteration(place, e.Time)
	o.provider, o.model = d.Provider, d.Model
	if b.attempting(place) {
		b.attempt(e)
	}
}

// retried adds a retry to the span of the iteration.
func (b *SpanBuilder) retried(e event.Event, d event.RetryData) {
	b.iterationSpan(e.Key, e.Time).addEvent("retry", e.Time, KeyRung.String(d.Rung), keyAttempt.Int(e.Attempt))
	b.attempt(e)
}

// attempt opens the span of an attempt and the span of its call.
func (b *SpanBuilder) attempt(e event.Event) {
	in := b.iterationSpan(e.Key, e.Time)
	o := b.work(e.Key, in, "attempt", e.Time, keyAttempt.Int(e.Attempt), keyEpoch.Int(b.epoch), KeyNode.String(in.node), KeyAgent.String(in.provider), KeyModel.String(in.model))
	b.invoke(e.Key.CallKey(), o, in.provider, in.model, e.Time)
}

// invoke opens the span of a provider's call.
func (b *SpanBuilder) invoke(key event.Key, around *openSpan, provider, model string, at time.Time) {
	o := b.work(key, around, strings.TrimSpace("invoke_agent "+provider), at,
		keyOperation.String("invoke_agent"), keyProvider.String(provider), KeyAgent.String(provider), KeyModel.String(model))
	o.Call = true
}

// attemptEnded ends an attempt. Under a contract, an attempt ends before its iteration.
func (b *SpanBuilder) attemptEnded(e event.Event, failed string) {
	if e.Key.Kind() != event.KeyAttempt || b.spans[e.Key] == nil {
		return
	}
	d, _ := event.Decode[event.AttemptCompleteData](e) // the data of other types has members of the same names
	b.finish(e.Key.CallKey(), e.Time, failed, append(usageAttributes(d.Usage), keyModelUsed.String(d.Model), keyVersion.String(d.AgentVersion))...)
	b.finish(e.Key, e.Time, failed)
}

func (b *SpanBuilder) failed(e event.Event, d event.FailureData) {
	failed := errorType(true, &d, "failed")
	if e.Key.Kind() == event.KeyAttempt && b.spans[e.Key] != nil {
		b.attemptEnded(e, failed)
		return
	}
	b.nearest(e.Key).addEvent("error", e.Time, KeyError.String(failed)) // the attempt never began
}

// iterationEnded sets the results of an iteration. Its span stays open for its hooks and its decision.
func (b *SpanBuilder) iterationEnded(e event.Event, d event.IterationCompleteData) {
	b.attemptEnded(e, "")
	_, place, _, ok := e.Key.Parse()
	if !ok {
		return
	}
	o := b.iteration(place, e.Time)
	o.addAttributes(keyDecision.String(d.Decision), KeyOutcome.String(d.Outcome))
	o.extend(e.Time)
	o.done = true
}

// decided adds the span of a strategy's call, which has no start event: it begins when the iteration's work is done. The
// kernel's own decisions become events of the iteration's span.
func (b *SpanBuilder) decided(e event.Event, d event.DecisionData) {
	around := b.iterationSpan(e.Key, e.Time)
	if d.Strategy == plan.TypeFixed || d.Strategy == plan.TypeChecks {
		around.addEvent("decision", e.Time, keyStrategy.String(d.Strategy), keyDecision.String(d.Action))
		return
	}
	o := b.work(e.Key, around, "decide "+d.Strategy, around.last, keyStrategy.String(d.Strategy), keyDecision.String(d.Action))
	o.Call = true
	b.finish(e.Key, e.Time, errorType(d.Action == "error", d.Failure, "strategy_failed"))
}

func (b *SpanBuilder) questionAsked(e event.Event, d event.StrategyQuestionData) {
	b.invoke(e.Key, b.iterationSpan(e.Key, e.Time), d.Provider, d.Model, e.Time)
}

func (b *SpanBuilder) questionAnswered(e event.Event, d event.StrategyAnswerData) {
	b.finish(e.Key, e.Time, errorType(d.Error != "", &event.FailureData{ErrorType: d.ErrorType}, "failed"), usageAttributes(d.Usage)...)
}

func (b *SpanBuilder) hook(e event.Event, d event.HookStartData) {
	o := b.work(e.Key, b.iterationSpan(e.Key, e.Time), "hook "+d.Action, e.Time, keyHook.String(d.Point), keyAction.String(d.Action))
	o.Call = d.Action != plan.ActionPause && d.Action != plan.ActionConfirm
}

func (b *SpanBuilder) hookEnded(e event.Event, d event.HookCompleteData) {
	b.finish(e.Key, e.Time, errorType(d.Failure != nil, d.Failure, "hook_failed"), keyAnswer.String(d.Answer))
}

// check adds the span of a check.
func (b *SpanBuilder) check(e event.Event, d event.CheckResultData) {
	if d.Skipped {
		return
	}
	began := e.Time.Add(-time.Duration(d.DurationMS) * time.Millisecond)
	o := b.work(e.Key, b.iterationSpan(e.Key, began), "check "+d.Type, began, keyCheck.String(d.ID), keyPassed.Bool(d.Passed))
	o.Call = true
	b.finish(e.Key, e.Time, errorType(d.Failure != nil, d.Failure, "failed"))
}

func toolKey(key event.Key, id string) event.Key { return key + event.Key("/tool/"+id) }

// tool opens the span of a tool call, within the call of its provider.
func (b *SpanBuilder) tool(e event.Event, d event.ToolCallData) {
	around := b.spans[e.Key.CallKey()]
	if around == nil {
		return
	}
	key := toolKey(e.Key, d.CallID)
	b.work(key, around, "execute_tool "+d.Tool, e.Time,
		keyOperation.String("execute_tool"), keyTool.String(d.Tool), keyCall.String(d.CallID), keyObserved.Bool(d.Observed), keyVerdict.String(d.Verdict))
	if d.Verdict == "deny" || d.Verdict == "skip" { // the call is not made
		b.finish(key, e.Time, "")
	}
}

func (b *SpanBuilder) toolEnded(e event.Event, d event.ToolResultData) {
	failed := ""
	if d.Status != "success" {
		failed = "tool_" + d.Status
	}
	b.finish(toolKey(e.Key, d.CallID), e.Time, failed)
}

func waitKey(id string) event.Key { return event.Key("wait/" + id) }

// userAsked opens the span of a wait for the user. The span ends early if the session pauses.
func (b *SpanBuilder) userAsked(e event.Event, d event.QuestionAskedData) {
	around := b.nearest(e.Key)
	if c := b.spans[e.Key.CallKey()]; c != nil { // of a tool call
		around = c
	}
	o := b.work(waitKey(d.ID), around, "wait "+d.Kind, e.Time, keyQuestion.String(d.ID), KeyQuestionKind.String(d.Kind))
	o.epoch = 0 // a question outlives the kernel that asked it
}

func (b *SpanBuilder) userAnswered(e event.Event, d event.QuestionAnsweredData) {
	if b.spans[waitKey(d.ID)] == nil {
		b.top.addEvent("answer", e.Time, keyQuestion.String(d.ID), keyAnswer.String(d.Answer))
		return
	}
	b.finish(waitKey(d.ID), e.Time, "", keyAnswer.String(d.Answer))
}

// visitLocation returns the location of a visit for an event without a key.
func (b *SpanBuilder) visitLocation(e event.Event) (event.Location, bool) {
	if e.Cursor == nil || b.state == nil {
		return event.Location{}, false
	}
	place := event.Location{Node: e.Cursor.NodePath, Visit: max(e.Cursor.Visit, 1), Run: 1}
	if n, ok := b.state.Nodes[place.Node]; ok {
		place.Visit, place.Run = cmp.Or(n.Visit, place.Visit), cmp.Or(n.Run, 1)
	}
	return place, place.Node != ""
}

// attempting reports whether an attempt is running at a location, by the state: an iteration that is checked first, or
// that consists of its node's steps, begins without an attempt.
func (b *SpanBuilder) attempting(at event.Location) bool {
	n := b.state.Nodes[at.Outer()]
	loop := n.Loop
	switch {
	case at.Branch != "":
		loop = n.Branches[at.Branch].Loop
	case at.Step != "":
		loop = n.Steps[at.Step].Loop
	}
	return loop.Phase == state.PhaseAttempt
}
