package trace

import (
	"cmp"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// applyEvent applies an event to the spans. Informative events never open or end one, because their order may differ from
// that of the journal.
func (b *SpanBuilder) applyEvent(e event.Event) {
	switch e.Type {
	case event.NodeStart:
		if place, ok := b.visitLocation(e); ok {
			b.node(place, e.Time)
		}
	case event.NodeComplete:
		b.visitEnded(e)
	case event.ParallelProviderComplete, event.ParallelProviderFailed:
		b.branchEnded(e)
	case event.StepComplete:
		b.stepEnded(e)
	case event.IterationStart:
		b.iterationBegan(e)
	case event.AttemptStart, event.Retry:
		b.retried(e)
		b.attempt(e)
	case event.AttemptComplete:
		b.attemptEnded(e, "")
	case event.IterationComplete:
		b.attemptEnded(e, "")
		b.iterationEnded(e)
	case event.Error:
		b.failed(e)
	case event.Decision:
		b.decided(e)
	case event.StrategyQuestion:
		b.questionAsked(e)
	case event.StrategyAnswer:
		b.questionAnswered(e)
	case event.HookStart:
		b.hook(e)
	case event.HookComplete, event.HookTimeout:
		b.hookEnded(e)
	case event.CheckResult:
		b.check(e)
	case event.ToolCall:
		b.tool(e)
	case event.ToolResult:
		b.toolEnded(e)
	case event.QuestionAsked:
		b.userAsked(e)
	case event.QuestionAnswered:
		b.userAnswered(e)
	case event.PluginCrashed, event.BudgetWarning, event.StageTimeout, event.ArtifactInvalid, event.AttemptSuperseded, event.LateDelivery,
		event.SurvivorEnded, event.SessionPaused, event.SessionResumed, event.Control:
		b.nearest(e.Key).addEvent(string(e.Type), e.Time)
	default: // has no effect on spans
	}
}

// data decodes the payload of an event; undecodable data is zero.
func data[T any](e event.Event) T {
	d, _ := event.Decode[T](e)
	return d
}

// visitEnded ends a visit. A skipped node has a span without length.
func (b *SpanBuilder) visitEnded(e event.Event) {
	place, ok := b.visitLocation(e)
	if !ok {
		return
	}
	d := data[event.NodeCompleteData](e)
	o := b.node(place, e.Time)
	o.addAttributes(textAttribute(keyOutcome, d.Outcome)...)
	o.addAttributes(textAttribute(keyTo, b.nodeName(d.To))...)
	o.addAttributes(textAttribute(keyEdge, d.Edge)...)
	o.addAttributes(numberAttribute(keyCycle, d.Cycle)...)
	b.end(o, e.Time, errorType(d.Status == "failed", d.Failure, "failed"), interrupted)
}

// nodeName returns the id of the node at a path, or the argument itself.
func (b *SpanBuilder) nodeName(to string) string {
	if n := b.plan.Find(to); n != nil {
		return n.ID
	}
	return to
}

// errorType returns the error of a span, "" unless it failed; other is that of a failure without a type.
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

func (b *SpanBuilder) branchEnded(e event.Event) {
	place, ok := b.visitLocation(e)
	if !ok {
		return
	}
	d := data[event.ProviderCompleteData](e)
	place.Branch = d.Provider
	o := b.spans[place.Key(event.KeyNode, 1)]
	if o == nil {
		return
	}
	b.end(o, e.Time, errorType(e.Type == event.ParallelProviderFailed, d.Failure, "failed"), interrupted)
}

func (b *SpanBuilder) stepEnded(e event.Event) {
	place, ok := b.visitLocation(e)
	if !ok {
		return
	}
	d := data[event.StepCompleteData](e)
	place.Step = d.Step
	o := b.part(place, e.Time)
	o.addAttributes(textAttribute(keyStatus, d.Status)...)
	b.end(o, e.Time, errorType(d.Status == "failed", d.Failure, "failed"), interrupted)
}

func (b *SpanBuilder) iterationBegan(e event.Event) {
	_, place, _, ok := e.Key.Parse()
	if !ok {
		return
	}
	o := b.iteration(place, e.Time)
	d := data[event.IterationStartData](e)
	o.provider, o.model = d.Provider, d.Model
	if b.attempting(place) {
		b.attempt(e)
	}
}

// retried adds a retry to the span of the iteration.
func (b *SpanBuilder) retried(e event.Event) {
	if e.Type == event.Retry {
		b.iterationSpan(e.Key, e.Time).addEvent("retry", e.Time, keyRung.String(data[event.RetryData](e).Rung), keyAttempt.Int(e.Attempt))
	}
}

// attempt opens the span of an attempt, and that of its call.
func (b *SpanBuilder) attempt(e event.Event) {
	iteration := b.iterationSpan(e.Key, e.Time)
	o := b.work(e.Key, iteration, "attempt", e.Time, keyAttempt.Int(e.Attempt), keyEpoch.Int(b.epoch))
	o.addAttributes(textAttribute(keyNode, iteration.node)...)
	o.addAttributes(textAttribute(keyAgent, iteration.provider)...)
	o.addAttributes(textAttribute(keyModel, iteration.model)...)
	b.invoke(e.Key.CallKey(), o, iteration.provider, iteration.model, e.Time)
}

// invoke opens the span of a provider's call.
func (b *SpanBuilder) invoke(key event.Key, around *openSpan, provider, model string, at time.Time) {
	o := b.work(key, around, strings.TrimSpace("invoke_agent "+provider), at, keyOperation.String("invoke_agent"))
	o.Call = true
	o.addAttributes(textAttribute(keyProvider, provider)...)
	o.addAttributes(textAttribute(keyAgent, provider)...)
	o.addAttributes(textAttribute(keyModel, model)...)
}

// attemptEnded ends an attempt. Under a contract it has ended before the iteration does.
func (b *SpanBuilder) attemptEnded(e event.Event, failed string) {
	o := b.spans[e.Key]
	if o == nil || e.Key.Kind() != event.KeyAttempt {
		return
	}
	d := data[event.AttemptCompleteData](e) // the other types have members of the same names
	if c := b.spans[e.Key.CallKey()]; c != nil {
		c.addAttributes(usageAttributes(d.Usage)...)
		c.addAttributes(textAttribute(keyModelUsed, d.Model)...)
		c.addAttributes(textAttribute(keyVersion, d.AgentVersion)...)
		b.end(c, e.Time, failed, failed)
	}
	b.end(o, e.Time, failed, failed)
}

func (b *SpanBuilder) failed(e event.Event) {
	d := data[event.FailureData](e)
	o := b.spans[e.Key]
	switch {
	case e.Key.Kind() == event.KeyAttempt && o != nil:
		b.attemptEnded(e, errorType(true, &d, "failed"))
	default: // the attempt never began
		b.nearest(e.Key).addEvent("error", e.Time, keyError.String(errorType(true, &d, "failed")))
	}
}

// iterationEnded sets the results of an iteration. Its span stays open for its hooks and its decision.
func (b *SpanBuilder) iterationEnded(e event.Event) {
	_, place, _, ok := e.Key.Parse()
	if !ok {
		return
	}
	d := data[event.IterationCompleteData](e)
	o := b.iteration(place, e.Time)
	o.addAttributes(textAttribute(keyDecision, d.Decision)...)
	o.addAttributes(textAttribute(keyOutcome, d.Outcome)...)
	o.extend(e.Time)
	o.done = true
}

// decided adds the span of a strategy's call, which has no start event: it begins when the iteration's work is done. The
// kernel's own decisions are events.
func (b *SpanBuilder) decided(e event.Event) {
	d := data[event.DecisionData](e)
	around := b.iterationSpan(e.Key, e.Time)
	if d.Strategy == plan.TypeFixed || d.Strategy == plan.TypeChecks {
		around.addEvent("decision", e.Time, keyStrategy.String(d.Strategy), keyDecision.String(d.Action))
		return
	}
	o := b.work(e.Key, around, "decide "+d.Strategy, around.last, keyStrategy.String(d.Strategy), keyDecision.String(d.Action))
	o.Call = true
	failed := errorType(d.Action == "error", d.Failure, "strategy_failed")
	b.end(o, e.Time, failed, failed)
}

func (b *SpanBuilder) questionAsked(e event.Event) {
	d := data[event.StrategyQuestionData](e)
	b.invoke(e.Key, b.iterationSpan(e.Key, e.Time), d.Provider, d.Model, e.Time)
}

func (b *SpanBuilder) questionAnswered(e event.Event) {
	o := b.spans[e.Key]
	if o == nil {
		return
	}
	d := data[event.StrategyAnswerData](e)
	o.addAttributes(usageAttributes(d.Usage)...)
	failed := ""
	if d.Error != "" {
		failed = cmp.Or(d.ErrorType, "failed")
	}
	b.end(o, e.Time, failed, failed)
}

func (b *SpanBuilder) hook(e event.Event) {
	d := data[event.HookStartData](e)
	o := b.work(e.Key, b.iterationSpan(e.Key, e.Time), "hook "+d.Action, e.Time, keyHook.String(d.Point), keyAction.String(d.Action))
	o.Call = d.Action != plan.ActionPause && d.Action != plan.ActionConfirm
}

func (b *SpanBuilder) hookEnded(e event.Event) {
	o := b.spans[e.Key]
	if o == nil {
		return
	}
	d := data[event.HookCompleteData](e)
	o.addAttributes(textAttribute(keyAnswer, d.Answer)...)
	failed := errorType(d.Failure != nil, d.Failure, "hook_failed")
	b.end(o, e.Time, failed, failed)
}

// check adds the span of a check.
func (b *SpanBuilder) check(e event.Event) {
	d := data[event.CheckResultData](e)
	if d.Skipped {
		return
	}
	began := e.Time.Add(-time.Duration(d.DurationMS) * time.Millisecond)
	o := b.work(e.Key, b.iterationSpan(e.Key, began), "check "+d.Type, began, keyCheck.String(d.ID), keyPassed.Bool(d.Passed))
	o.Call = true
	failed := errorType(d.Failure != nil, d.Failure, "failed")
	b.end(o, e.Time, failed, failed)
}

func toolKey(key event.Key, id string) event.Key { return key + event.Key("/tool/"+id) }

// tool opens the span of a tool call, within the call of its provider.
func (b *SpanBuilder) tool(e event.Event) {
	around := b.spans[e.Key.CallKey()]
	if around == nil {
		return
	}
	d := data[event.ToolCallData](e)
	o := b.work(toolKey(e.Key, d.CallID), around, "execute_tool "+d.Tool, e.Time,
		keyOperation.String("execute_tool"), keyTool.String(d.Tool), keyCall.String(d.CallID), keyObserved.Bool(d.Observed))
	o.addAttributes(textAttribute(keyVerdict, d.Verdict)...)
	if d.Verdict == "deny" || d.Verdict == "skip" { // the call is not made
		b.end(o, e.Time, "", "")
	}
}

func (b *SpanBuilder) toolEnded(e event.Event) {
	d := data[event.ToolResultData](e)
	o := b.spans[toolKey(e.Key, d.CallID)]
	if o == nil {
		return
	}
	failed := ""
	if d.Status != "success" {
		failed = "tool_" + d.Status
	}
	b.end(o, e.Time, failed, failed)
}

func waitKey(id string) event.Key { return event.Key("wait/" + id) }

// userAsked opens the span of a wait for the user. A session that rests waits in no span.
func (b *SpanBuilder) userAsked(e event.Event) {
	d := data[event.QuestionAskedData](e)
	around := b.nearest(e.Key)
	if c := b.spans[e.Key.CallKey()]; c != nil { // of a tool call
		around = c
	}
	o := b.work(waitKey(d.ID), around, "wait "+d.Kind, e.Time, keyQuestion.String(d.ID), keyWaitsFor.String(d.Kind))
	o.epoch = 0 // a question outlives the kernel that asked it
}

func (b *SpanBuilder) userAnswered(e event.Event) {
	d := data[event.QuestionAnsweredData](e)
	o := b.spans[waitKey(d.ID)]
	if o == nil {
		b.top.addEvent("answer", e.Time, keyQuestion.String(d.ID), keyAnswer.String(d.Answer))
		return
	}
	o.addAttributes(textAttribute(keyAnswer, d.Answer)...)
	b.end(o, e.Time, "", "")
}
