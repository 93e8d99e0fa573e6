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

// traits returns the traits that the tested provider declares.
func (s side) traits() sdk.ProviderTraits {
	if t := s.description.Components[0].Provider; t != nil {
		return t.WithDefaults()
	}
	return sdk.ProviderTraits{}.WithDefaults()
}

// full returns the case that shows every trait.
func (cfg ProviderConfig) full() Case {
	if cfg.Full != nil {
		return *cfg.Full
	}
	return cfg.Normal
}

// checkTraits compares the declared traits with the provider's behaviour in both directions: an
// undeclared trait hides an ability from the user.
func (cfg ProviderConfig) checkTraits(t *testing.T, s side) {
	traits := s.traits()
	normal := perform(t, s, cfg.Normal, nil)
	shown := normal
	if cfg.Full != nil {
		shown = perform(t, s, cfg.full(), nil)
	}
	checkTrait(t, "gated_tools", traits.GatedTools, len(shown.Calls) > 0)
	checkTrait(t, "observed_tools", traits.ObservedTools, len(shown.Observed) > 0)
	checkTrait(t, "resume", traits.Resume, len(shown.Checkpoints) > 0)
	checkCalls(t, shown.Record)
	for _, figure := range []struct {
		name    string
		claimed sdk.Reporting
		known   func(performance) bool
	}{{"usage", traits.Usage, performance.counts}, {"cost", traits.Cost, performance.prices}} {
		checkTrait(t, figure.name, figure.claimed != sdk.ReportsNever, figure.known(shown))
		if figure.claimed == sdk.ReportsAlways && !figure.known(normal) {
			t.Errorf("the traits say %s: always, but the normal case reports none; declare some or never", figure.name)
		}
	}
	if traits.Resume && len(shown.saved) > 0 {
		cfg.resumes(t, s, shown, shown.saved[0])
	}
}

// checkTrait compares one trait with the behaviour in the full case.
func checkTrait(t *testing.T, trait string, claimed, shown bool) {
	t.Helper()
	switch {
	case claimed && !shown:
		t.Errorf("the traits claim %s, but the case shows none of it; do not declare it, or show it in the case Full", trait)
	case !claimed && shown:
		t.Errorf("the provider shows undeclared behaviour: %s; declare it", trait)
	}
}

// performance is the record of one successful attempt.
type performance struct {
	Record
	usage *sdk.Usage
	saved []savepoint
}

// savepoint is a checkpoint and the number of gated calls requested before it.
type savepoint struct {
	checkpoint sdk.Checkpoint
	calls      int
}

func (p performance) counts() bool {
	return p.usage != nil && (p.usage.InputTokens != nil || p.usage.OutputTokens != nil)
}

func (p performance) prices() bool { return p.usage != nil && p.usage.CostUSD != nil }

// perform runs an attempt that must succeed.
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
	result, err := p.Execute(testContext(t), request, x)
	if err != nil {
		t.Fatalf("execute: %v", err)
	}
	checkSucceeded(t, result, x)
	done := performance{Record: x.Record(), usage: result.Usage, saved: saved}
	if reports := done.Usage; done.usage == nil && len(reports) > 0 {
		done.usage = &reports[len(reports)-1]
	}
	return done
}

// checkCalls checks that call IDs are unique, that results belong to calls, and that an executed
// call has a result. The kernel treats a call without one as interrupted.
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
			t.Errorf("the call %s (%s) was allowed, but no result of it is reported", call.CallID, call.Tool)
		}
	}
	for _, result := range slices.Concat(r.Results, r.ObservedResults) {
		if !known[result.CallID] {
			t.Errorf("a result for %q, which was never called; calls: %q", result.CallID, slices.Sorted(maps.Keys(known)))
		}
	}
}

// resumes passes the saved state of an earlier attempt, with every later call finished, to a new
// one. A provider that starts over asks for finished calls again.
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

// choosesModels checks that listed models are accepted, that others are refused or accepted as
// declared, and that the defaults are listed.
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
			t.Errorf("model_choice is %s, but there is no Validate to refuse other models; declare any", traits.ModelChoice)
		}
		return
	}
	p := s.plugin.Providers[0]
	initialize(t, p)
	for _, model := range traits.Models {
		if err := accepts(t, p, model, cfg.full().Config); err != nil {
			t.Errorf("validate refuses the model %q, which is declared: %v", model, err)
		}
	}
	switch err := accepts(t, p, unknownModel, cfg.full().Config); {
	case closed && err == nil:
		t.Errorf("model_choice is %s, but validate accepts the model %q; declare any, or refuse it", traits.ModelChoice, unknownModel)
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
	return v.Validate(testContext(t), sdk.ValidateRequest{Model: model, Config: config})
}
