package plugintest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// DecideCase is a decision with its expected action.
type DecideCase struct {
	Name string
	// Request gets a session, a work directory and the suite's config where it has none.
	Request sdk.DecideRequest
	// Want is the expected action. For ask, the question must have a prompt.
	Want sdk.DecisionAction
}

// TerminationConfig holds the cases for the conformance suite of a strategy.
type TerminationConfig struct {
	// New returns a new strategy for each check. Required.
	New func(testing.TB) sdk.Termination
	// Config is a configuration that the strategy accepts.
	Config json.RawMessage
	// Cases are decisions; at least one.
	Cases []DecideCase
	// Refused are configurations, besides invalid JSON, that Validate must refuse.
	Refused []json.RawMessage
}

// Termination runs the conformance suite on a termination strategy.
func Termination(t *testing.T, cfg TerminationConfig) {
	t.Helper()
	if len(cfg.Cases) == 0 {
		t.Fatal("the configuration of the test has no case")
	}
	build := func(tb testing.TB) sdk.Plugin {
		return sdk.Plugin{Name: "conformance", Version: "1.0.0", Terminations: []sdk.Termination{cfg.New(tb)}}
	}
	runBoth(t, build, []check{
		{"describes itself", func(t *testing.T, s side) { checkDescription(t, s, sdk.KindTermination, cfg.New(t).Describe()) }},
		{"decides", cfg.decides},
		{"repeats its decisions", cfg.repeats},
		{"handles concurrent calls", cfg.overlaps},
		{"honours an ended context", cfg.cancelled},
		{"releases an unknown session", cfg.releases},
		{"refuses garbage", func(t *testing.T, s side) {
			checkRefused(t, s.plugin.Terminations[0], validates(cfg.New(t)), cfg.Refused)
		}},
		{"survives garbage", cfg.survivesGarbage},
	})
}

func (cfg TerminationConfig) decides(t *testing.T, s side) {
	strategy := s.plugin.Terminations[0]
	prepare(t, strategy, "", cfg.Config)
	for _, c := range cfg.Cases {
		t.Run(c.Name, func(t *testing.T) {
			decision, err := strategy.Decide(testContext(t), cfg.request(t, c))
			if err != nil {
				t.Fatalf("decide: %v", err)
			}
			checkDecision(t, decision)
			if decision.Action != c.Want {
				t.Errorf("got %s (%s), want %s", decision.Action, decision.Reason, c.Want)
			}
		})
	}
}

// checkDecision checks the rules for decisions on which the kernel relies.
func checkDecision(t *testing.T, d sdk.Decision) {
	t.Helper()
	switch d.Action {
	case sdk.DecisionContinue, sdk.DecisionStop, sdk.DecisionError:
	case sdk.DecisionAsk:
		if d.Question == nil || d.Question.Prompt == "" {
			t.Error("ask without a question's prompt")
		}
	default:
		t.Errorf("unknown action %q", d.Action)
	}
	if len(d.State) > 0 && !json.Valid(d.State) {
		t.Errorf("the state is not JSON: %q", d.State)
	}
	if len(d.Record) > 0 && !json.Valid(d.Record) {
		t.Errorf("the record is not JSON: %q", d.Record)
	}
	if d.Confidence < 0 || d.Confidence > 1 {
		t.Errorf("confidence %v is not within 0 and 1", d.Confidence)
	}
}

// repeats checks that a strategy keeps nothing between calls, so that a decision can be repeated
// after a crash.
func (cfg TerminationConfig) repeats(t *testing.T, s side) {
	strategy := s.plugin.Terminations[0]
	prepare(t, strategy, "", cfg.Config)
	for _, c := range cfg.Cases {
		request := cfg.request(t, c)
		first, err := strategy.Decide(testContext(t), request)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		second, err := strategy.Decide(testContext(t), request)
		if err != nil {
			t.Fatalf("%s, again: %v", c.Name, err)
		}
		if first.Action != second.Action {
			t.Errorf("%s: first %s, then %s for the same request", c.Name, first.Action, second.Action)
		}
		if diff := cmp.Diff(first.State, second.State); diff != "" {
			t.Errorf("%s: another state for the same request (-first +second):\n%s", c.Name, diff)
		}
	}
}

func (cfg TerminationConfig) overlaps(t *testing.T, s side) {
	strategy := s.plugin.Terminations[0]
	prepare(t, strategy, "", cfg.Config)
	atOnce := concurrency
	if s.description.Components[0].Concurrency == sdk.ConcurrencySerial {
		atOnce = 1
	}
	concurrently(atOnce, func(i int) {
		c := cfg.Cases[i%len(cfg.Cases)]
		if decision, err := strategy.Decide(testContext(t), cfg.request(t, c)); err != nil || decision.Action != c.Want {
			t.Errorf("%s: got %s, %v, want %s", c.Name, decision.Action, err, c.Want)
		}
	})
}

// cancelled checks that a strategy returns when its context has ended, with or without a decision.
func (cfg TerminationConfig) cancelled(t *testing.T, s side) {
	strategy := s.plugin.Terminations[0]
	prepare(t, strategy, "", cfg.Config)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if decision, err := strategy.Decide(ctx, cfg.request(t, cfg.Cases[0])); err == nil {
		checkDecision(t, decision)
	}
}

func (cfg TerminationConfig) releases(t *testing.T, s side) {
	strategy := s.plugin.Terminations[0]
	prepare(t, strategy, "", cfg.Config)
	if r, ok := strategy.(sdk.Releaser); ok {
		if err := r.Release(testContext(t), "a-session-that-never-was"); err != nil {
			t.Errorf("release: %v", err)
		}
	}
}

// survivesGarbage checks that the process survives; an error is allowed.
func (cfg TerminationConfig) survivesGarbage(t *testing.T, s side) {
	strategy := s.plugin.Terminations[0]
	initialize(t, strategy)
	for _, junk := range garbage() {
		request := cfg.request(t, cfg.Cases[0])
		request.Config, request.Result, request.State = junk, junk, junk
		request.Checks = []json.RawMessage{junk}
		if decision, err := strategy.Decide(testContext(t), request); err == nil {
			checkDecision(t, decision)
		}
	}
	cfg.decides(t, s)
}

func (cfg TerminationConfig) request(t *testing.T, c DecideCase) sdk.DecideRequest {
	r := c.Request
	if r.Session == "" {
		r.Session = "plugintest"
	}
	if r.WorkDir == "" {
		r.WorkDir = t.TempDir()
	}
	if len(r.Config) == 0 {
		r.Config = cfg.Config
	}
	return r
}
