package plugintest

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// unknownModel is a name that no provider lists.
const unknownModel = "plugintest-no-such-model"

// traits are what the provider under test declares.
func (s side) traits() sdk.ProviderTraits {
	if t := s.description.Components[0].Provider; t != nil {
		return t.Complete()
	}
	return sdk.ProviderTraits{}.Complete()
}

// full is the case that shows everything.
func (cfg ProviderConfig) full() Case {
	if cfg.Full != nil {
		return *cfg.Full
	}
	return cfg.Normal
}

// keepsItsWord compares what the provider does with what it declares, both ways: a trait that is not
// declared hides from the user what the provider can.
func (cfg ProviderConfig) keepsItsWord(t *testing.T, s side) {
	traits := s.traits()
	normal := perform(t, s, cfg.Normal, nil)
	shown := normal
	if cfg.Full != nil {
		shown = perform(t, s, cfg.full(), nil)
	}
	matches(t, "gated_tools", traits.GatedTools, len(shown.Calls) > 0)
	matches(t, "observed_tools", traits.ObservedTools, len(shown.Observed) > 0)
	matches(t, "resume", traits.Resume, len(shown.Checkpoints) > 0)
	checkCalls(t, shown.Record)
	for _, figure := range []struct {
		name    string
		claimed sdk.Reporting
		known   func(performance) bool
	}{{"usage", traits.Usage, performance.counts}, {"cost", traits.Cost, performance.prices}} {
		matches(t, figure.name, figure.claimed != sdk.ReportsNever, figure.known(shown))
		if figure.claimed == sdk.ReportsAlways && !figure.known(normal) {
			t.Errorf("the traits say %s: always, but the normal case reports none; say some or never", figure.name)
		}
	}
	if traits.Resume && len(shown.saved) > 0 {
		cfg.resumes(t, s, shown, shown.saved[0])
	}
}

// matches compares one trait with what the full case showed.
func matches(t *testing.T, trait string, claimed, shown bool) {
	t.Helper()
	switch {
	case claimed && !shown:
		t.Errorf("the traits claim %s, but the case shows none of it; take it back, or show it in the case Full", trait)
	case !claimed && shown:
		t.Errorf("the provider does what its traits do not claim: %s; declare it", trait)
	}
}

// performance is what one successful attempt reported.
type performance struct {
	Record
	usage *sdk.Usage
	saved []savepoint
}

// savepoint is a checkpoint and how many gated calls had been asked for before it.
type savepoint struct {
	checkpoint sdk.Checkpoint
	calls      int
}

func (p performance) counts() bool {
	return p.usage != nil && (p.usage.InputTokens != nil || p.usage.OutputTokens != nil)
}

func (p performance) prices() bool { return p.usage != nil && p.usage.CostUSD != nil }

// perform makes an attempt that has to succeed.
func perform(t *testing.T, s side, c Case, resume *sdk.Resume) performance {
	t.Helper()
	p := s.plugin.Providers[0]
	prepare(t, p, c.Model, c.Config)
	var saved []savepoint
	x := &Exchange{}
	x.OnCheckpoint = func(c sdk.Checkpoint) error {
		saved = append(saved, savepoint{c, len(x.Record().Calls)})
		return nil
	}
	request := c.request(t)
	request.Resume = resume
	result, err := p.Execute(patient(t), request, x)
	if err != nil {
		t.Fatalf("execute: %v", err)
	}
	succeeded(t, result, x)
	done := performance{Record: x.Record(), usage: result.Usage, saved: saved}
	if reports := done.Usage; done.usage == nil && len(reports) > 0 {
		done.usage = &reports[len(reports)-1]
	}
	return done
}

// checkCalls demands that calls can be told apart, that results belong to one, and that a call which
// was let run has a result: without it the kernel takes it for cut off.
func checkCalls(t *testing.T, r Record) {
	t.Helper()
	known := map[string]bool{}
	for _, call := range slices.Concat(r.Calls, r.Observed) {
		if call.CallID == "" || call.Tool == "" || known[call.CallID] {
			t.Errorf("tool call %q of %q: want a tool, and an id that no other call of the attempt has", call.Tool, call.CallID)
		}
		known[call.CallID] = true
	}
	for _, call := range r.Calls {
		if !slices.ContainsFunc(r.Results, func(result sdk.ToolResult) bool { return result.CallID == call.CallID }) {
			t.Errorf("the call %s (%s) was let run, but no result of it is reported", call.CallID, call.Tool)
		}
	}
	for _, result := range slices.Concat(r.Results, r.ObservedResults) {
		if !known[result.CallID] {
			t.Errorf("a result for %q, which was never called; calls: %q", result.CallID, slices.Sorted(maps.Keys(known)))
		}
	}
}

// resumes hands an attempt back what an earlier one had saved, with every later call finished. Whoever
// begins anew asks for calls again that were made.
func (cfg ProviderConfig) resumes(t *testing.T, s side, before performance, from savepoint) {
	t.Helper()
	results := map[string]sdk.ToolResult{}
	for _, r := range before.Results {
		results[r.CallID] = r
	}
	resume := &sdk.Resume{Checkpoint: from.checkpoint}
	for _, call := range before.Calls[from.calls:] {
		result := results[call.CallID]
		resume.Calls = append(resume.Calls, sdk.ResumedCall{Call: call, Result: &result})
	}
	after := perform(t, s, cfg.full(), resume)
	for _, call := range after.Calls {
		if slices.ContainsFunc(before.Calls, func(c sdk.ToolCall) bool { return c.CallID == call.CallID }) {
			t.Errorf("the traits claim resume, but call %s (%s) is asked for again although it is finished", call.CallID, call.Tool)
		}
	}
}

// choosesModels demands that the model names which are listed are taken, that others are refused where
// the traits say so and taken where they do not, and that the defaults are among what is listed.
func (cfg ProviderConfig) choosesModels(t *testing.T, s side) {
	traits := s.traits()
	if e := traits.DefaultEffort; e != "" && !slices.Contains(traits.Efforts, e) {
		t.Errorf("default_effort %q is none of the efforts %q", e, traits.Efforts)
	}
	closed := traits.ModelChoice != sdk.ModelsAny
	if m := traits.DefaultModel; m != "" && closed && !slices.Contains(traits.Models, m) {
		t.Errorf("default_model %q is none of the models %q", m, traits.Models)
	}
	if !validates(cfg.New(t)) {
		if closed {
			t.Errorf("model_choice is %s, but there is no Validate to refuse other models; say any", traits.ModelChoice)
		}
		return
	}
	p := s.plugin.Providers[0]
	initialize(t, p)
	for _, model := range traits.Models {
		if err := accepts(t, p, model, cfg.full().Config); err != nil {
			t.Errorf("validate refuses the model %q, which is listed: %v", model, err)
		}
	}
	switch err := accepts(t, p, unknownModel, cfg.full().Config); {
	case closed && err == nil:
		t.Errorf("model_choice is %s, but validate accepts the model %q; say any, or refuse it", traits.ModelChoice, unknownModel)
	case closed && isFailure(err) && failure.KindOf(err) != failure.ConfigInvalid:
		t.Errorf("validate refuses an unknown model with %s, want %s: %v", failure.KindOf(err), failure.ConfigInvalid, err)
	case !closed && err != nil:
		t.Errorf("model_choice is any, but validate refuses the model %q: %v", unknownModel, err)
	}
}

func accepts(t *testing.T, p sdk.Provider, model string, config json.RawMessage) error {
	v, ok := p.(sdk.Validator)
	if !ok {
		return nil
	}
	return v.Validate(patient(t), sdk.ValidateRequest{Model: model, Config: config})
}
