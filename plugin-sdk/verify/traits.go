package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// unknownModel is a name that no provider lists.
const unknownModel = "verify-no-such-model"

func checkModels(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	traits := c.Provider.WithDefaults()
	closed := traits.ModelChoice != sdk.ModelsAny
	if m := traits.DefaultModel; m != "" && closed && !slices.Contains(traits.Models, m) {
		return fail("list the default model", "default_model %q is none of the models", m)
	}
	if e := traits.DefaultEffort; e != "" && !slices.Contains(traits.Efforts, e) {
		return fail("list the default effort", "default_effort %q is none of the efforts", e)
	}
	_, config, _ := t.opts.Cases.settings(c)
	for _, model := range append(slices.Clone(traits.Models), unknownModel) {
		listed := model != unknownModel
		f, err := validate(ctx, s, c, model, config)
		switch {
		case err != nil:
			return fail("answer with a failure", "Validate with model %s: %s", model, explain(ctx, s, err))
		case f.GetKind() == string(failure.ProviderMissing):
			return skip("the command that it drives", "Validate says: %s", subprocess.Shorten(f.GetMessage()))
		case f != nil && listed:
			return fail("accept every listed model", "Validate refuses %s: %s", model, subprocess.Shorten(f.GetMessage()))
		case f != nil && !closed:
			return fail("accept every model, or declare model_choice listed", "Validate refuses %s: %s", model, subprocess.Shorten(f.GetMessage()))
		case f == nil && !listed && closed:
			return fail("refuse other models in Validate, or declare model_choice any", "model_choice is %s, but Validate accepts %s", traits.ModelChoice, model)
		case f != nil && f.GetKind() != string(failure.ConfigInvalid):
			return fail("refuse a model as config_invalid", "Validate refuses %s as %q", model, f.GetKind())
		}
	}
	return pass("%d listed, choice %s", len(traits.Models), traits.ModelChoice)
}

// checkUsage checks that unknown values are absent and that values declared as always known are
// present.
func checkUsage(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	const do = "omit unknown values: zero is a number; declare usage and cost as never, some or always"
	cases := t.opts.Cases.Providers[c.Name]
	p, err := t.perform(ctx, s, c, *cases.Normal, nil, sdk.Verdict{})
	if err != nil {
		return fail("see the row success", "%s", explain(ctx, s, err))
	}
	traits := c.Provider.WithDefaults()
	for _, figure := range []struct {
		name    string
		claimed sdk.Reporting
		known   bool
	}{{"usage", traits.Usage, p.counts()}, {"cost", traits.Cost, p.prices()}} {
		switch {
		case figure.claimed == sdk.ReportsNever && figure.known:
			return fail(do, "the traits say %s: never, but the attempt reports it", figure.name)
		case figure.claimed == sdk.ReportsAlways && !figure.known:
			return fail(do, "the traits say %s: always, but the attempt reports none", figure.name)
		}
	}
	if p.counts() && p.tokens() == 0 && cases.Normal.Run == "" { // a command asks no model, so that 0 tokens is correct
		return fail(do, "an attempt that read a prompt and answered reports 0 tokens")
	}
	return pass("usage %s, cost %s; reported: %t, %t", traits.Usage, traits.Cost, p.counts(), p.prices())
}

func (p performance) counts() bool {
	return p.usage != nil && (p.usage.InputTokens != nil || p.usage.OutputTokens != nil)
}

func (p performance) prices() bool { return p.usage != nil && p.usage.CostUSD != nil }

// tokens returns the sum of all counted tokens.
func (p performance) tokens() int64 {
	var n int64
	for _, count := range []*int64{p.usage.InputTokens, p.usage.OutputTokens, p.usage.CacheReadTokens, p.usage.CacheWriteTokens} {
		if count != nil {
			n += *count
		}
	}
	return n
}

// checkTraits compares the behaviour in the full case with the declared traits. Without a full
// case, a declared trait that is not shown is not a fault.
func checkTraits(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	cases := t.opts.Cases.Providers[c.Name]
	p, err := t.perform(ctx, s, c, *cases.full(), nil, sdk.Verdict{})
	if why := p.fault(err); why != "" {
		return fail("let the case full succeed", "%s", why)
	}
	if fault := callFaults(p); fault != "" {
		return fail("report an id and a result for each tool call", "%s", fault)
	}
	traits := c.Provider.WithDefaults()
	var shown []string
	for _, trait := range []struct {
		name          string
		claimed, seen bool
	}{
		{"gated_tools", traits.GatedTools, len(p.Calls) > 0},
		{"observed_tools", traits.ObservedTools, len(p.Observed) > 0},
		{"resume", traits.Resume, len(p.Checkpoints) > 0},
		{"usage", traits.Usage != sdk.ReportsNever, p.counts()},
		{"cost", traits.Cost != sdk.ReportsNever, p.prices()},
	} {
		switch {
		case trait.seen && !trait.claimed:
			return fail("declare the trait: the kernel uses only declared ones", "it shows undeclared behaviour: %s", trait.name)
		case trait.claimed && !trait.seen && cases.Full != nil:
			return fail("do not declare the trait, or show it in the case full", "it declares %s and shows none", trait.name)
		case trait.seen:
			shown = append(shown, trait.name)
		}
	}
	if len(shown) == 0 {
		return pass("all shown behaviour is declared")
	}
	return pass("shown: %s", strings.Join(shown, ", "))
}

// callFaults describes the first fault of an attempt's tool calls, such as a duplicate ID, or a gated call without
// a result. The kernel treats a call without a result as interrupted.
func callFaults(p performance) string {
	known := map[string]bool{}
	for _, call := range slices.Concat(p.Calls, p.Observed) {
		if call.CallID == "" || call.Tool == "" || known[call.CallID] {
			return fmt.Sprintf("tool call %q of %q has no tool, or an empty or duplicate id", call.Tool, call.CallID)
		}
		known[call.CallID] = true
	}
	for _, call := range p.Calls {
		if !slices.ContainsFunc(p.Results, func(r sdk.ToolResult) bool { return r.CallID == call.CallID }) {
			return fmt.Sprintf("the call %s (%s) was answered, but no result of it is reported", call.CallID, call.Tool)
		}
	}
	for _, result := range slices.Concat(p.Results, p.ObservedResults) {
		if !known[result.CallID] {
			return fmt.Sprintf("a result for %q, which was never called", result.CallID)
		}
	}
	return ""
}

// checkDenied denies every gated call of the full case. The outcome of the attempt does not matter.
func checkDenied(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	const do = "do not make a call that is denied; report it by tool_result with status denied"
	if !c.Provider.WithDefaults().GatedTools {
		return skip("", "it does not declare gated_tools")
	}
	full := t.opts.Cases.Providers[c.Name].full()
	if full == nil {
		return needCase(c, "full")
	}
	p, err := t.perform(ctx, s, c, *full, nil, sdk.Verdict{Action: sdk.VerdictDeny, Reason: "verify denies it"})
	if failure.KindOf(err) == failure.ProviderCrashed {
		return fail(do, "%s", explain(ctx, s, err))
	}
	if len(p.Calls) == 0 {
		return skip("a case full with a gated tool call", "no call was asked for")
	}
	for _, call := range p.Calls {
		i := slices.IndexFunc(p.Results, func(r sdk.ToolResult) bool { return r.CallID == call.CallID })
		switch {
		case i < 0 && err == nil:
			return fail(do, "no result is reported of the denied call %s (%s)", call.CallID, call.Tool)
		case i >= 0 && p.Results[i].Status != sdk.ToolDenied:
			return fail(do, "the denied call %s (%s) is reported as %s", call.CallID, call.Tool, p.Results[i].Status)
		}
	}
	return pass("%d calls denied", len(p.Calls))
}

// checkResume passes the saved state of an earlier attempt, with every later call finished, to a new attempt. A
// provider that starts over repeats calls or uses another conversation.
func checkResume(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	const do = "resume from the checkpoint in start.resume: repeat no finished call, and keep the conversation"
	if !c.Provider.WithDefaults().Resume {
		return skip("", "it does not declare resume")
	}
	full := t.opts.Cases.Providers[c.Name].full()
	if full == nil {
		return needCase(c, "full")
	}
	before, err := t.perform(ctx, s, c, *full, nil, sdk.Verdict{})
	if why := before.fault(err); why != "" {
		return fail("let the case full succeed", "%s", why)
	}
	if len(before.saved) == 0 {
		return fail("do not declare the trait, or save a checkpoint in the case full", "it declares resume and saves no checkpoint")
	}
	after, err := t.perform(ctx, s, c, *full, before.resume(), sdk.Verdict{})
	if why := after.fault(err); why != "" {
		return fail(do, "the resumed attempt: %s", why)
	}
	for _, call := range after.Calls {
		if slices.ContainsFunc(before.Calls, func(c sdk.ToolCall) bool { return c.CallID == call.CallID }) {
			return fail(do, "call %s (%s) is asked for again although it is finished", call.CallID, call.Tool)
		}
	}
	if was, is := before.result.Conversation, after.result.Conversation; was != "" && was != is {
		return fail(do, "the conversation was %q, now it is %q", was, is)
	}
	return pass("from turn %d, %d finished calls not repeated", before.saved[0].checkpoint.Turn, len(before.Calls))
}

// resume returns the state after the first checkpoint, as the kernel would pass it.
func (p performance) resume() *sdk.Resume {
	results := map[string]sdk.ToolResult{}
	for _, r := range p.Results {
		results[r.CallID] = r
	}
	first := p.saved[0]
	resume := &sdk.Resume{Checkpoint: first.checkpoint}
	for _, call := range p.Calls[first.calls:] {
		result := results[call.CallID]
		resume.Calls = append(resume.Calls, sdk.ResumedCall{Call: call, Result: &result})
	}
	return resume
}
