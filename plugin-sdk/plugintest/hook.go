package plugintest

import (
	"cmp"
	"context"
	"encoding/json"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// HookCase is a firing of a hook with its expected answer.
type HookCase struct {
	Name string
	// Request gets a key, a session, a work directory and the suite's config where it has none.
	Request sdk.HookRequest
	// Want is the expected action; the zero value is continue.
	Want sdk.Action
}

// HookActionConfig holds the cases for the conformance suite of a hook action.
type HookActionConfig struct {
	// New returns a new action for each check. Required.
	New func(testing.TB) sdk.HookAction
	// Config is a configuration that the action accepts.
	Config json.RawMessage
	// Cases are firings; at least one.
	Cases []HookCase
	// Refused are configurations, besides invalid JSON, that Validate must refuse.
	Refused []json.RawMessage
}

// HookAction runs the conformance suite on a hook action.
func HookAction(t *testing.T, cfg HookActionConfig) {
	t.Helper()
	if len(cfg.Cases) == 0 {
		t.Fatal("the configuration of the test has no case")
	}
	build := func(tb testing.TB) sdk.Plugin {
		return sdk.Plugin{Name: "conformance", Version: "1.0.0", HookActions: []sdk.HookAction{cfg.New(tb)}}
	}
	runBoth(t, build, []check{
		{"describes itself", func(t *testing.T, s side) { checkDescription(t, s, sdk.KindHookAction, cfg.New(t).Describe()) }},
		{"answers", cfg.answers},
		{"handles concurrent calls", cfg.overlaps},
		{"honours an ended context", cfg.cancelled},
		{"refuses garbage", func(t *testing.T, s side) {
			checkRefused(t, s.plugin.HookActions[0], validates(cfg.New(t)), cfg.Refused)
		}},
		{"survives garbage", cfg.survivesGarbage},
	})
}

func (cfg HookActionConfig) answers(t *testing.T, s side) {
	action := s.plugin.HookActions[0]
	prepare(t, action, "", cfg.Config)
	for _, c := range cfg.Cases {
		t.Run(c.Name, func(t *testing.T) {
			answer, err := action.Run(testContext(t), cfg.request(t, c))
			if err != nil {
				t.Fatalf("run: %v", err)
			}
			checkAnswer(t, c.Request.Point, answer)
			if got, want := cmp.Or(answer.Action, sdk.ActionContinue), cmp.Or(c.Want, sdk.ActionContinue); got != want {
				t.Errorf("got %s (%s), want %s", got, answer.Reason, want)
			}
		})
	}
}

// checkAnswer checks the rules for answers on which the kernel relies.
func checkAnswer(t *testing.T, point sdk.HookPoint, a sdk.HookAnswer) {
	t.Helper()
	switch cmp.Or(a.Action, sdk.ActionContinue) {
	case sdk.ActionContinue, sdk.ActionAbort:
	case sdk.ActionPause, sdk.ActionRestartStage, sdk.ActionModifyContext:
		if point == sdk.SessionEnd {
			t.Errorf("%s at session_end, which allows no action", a.Action)
		}
	default:
		t.Errorf("unknown action %q", a.Action)
	}
	var facts map[string]any
	if len(a.Facts) > 0 && json.Unmarshal(a.Facts, &facts) != nil {
		t.Errorf("the facts are not a JSON object: %q", a.Facts)
	}
}

func (cfg HookActionConfig) overlaps(t *testing.T, s side) {
	action := s.plugin.HookActions[0]
	prepare(t, action, "", cfg.Config)
	atOnce := concurrency
	if s.description.Components[0].Concurrency == sdk.ConcurrencySerial {
		atOnce = 1
	}
	concurrently(atOnce, func(i int) {
		c := cfg.Cases[i%len(cfg.Cases)]
		if _, err := action.Run(testContext(t), cfg.request(t, c)); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	})
}

// cancelled checks that an action returns when its context has ended, whether it acted or not.
func (cfg HookActionConfig) cancelled(t *testing.T, s side) {
	action := s.plugin.HookActions[0]
	prepare(t, action, "", cfg.Config)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if answer, err := action.Run(ctx, cfg.request(t, cfg.Cases[0])); err == nil {
		checkAnswer(t, cfg.Cases[0].Request.Point, answer)
	}
}

// survivesGarbage checks that the process survives; an error is allowed.
func (cfg HookActionConfig) survivesGarbage(t *testing.T, s side) {
	action := s.plugin.HookActions[0]
	initialize(t, action)
	for _, junk := range garbage() {
		request := cfg.request(t, cfg.Cases[0])
		request.Config, request.Result = junk, junk
		if answer, err := action.Run(testContext(t), request); err == nil {
			checkAnswer(t, request.Point, answer)
		}
	}
	cfg.answers(t, s)
}

func (cfg HookActionConfig) request(t *testing.T, c HookCase) sdk.HookRequest {
	r := c.Request
	r.Key = cmp.Or(r.Key, "hook:1/v1/r1//i1#1")
	r.Session = cmp.Or(r.Session, "plugintest")
	r.WorkDir = cmp.Or(r.WorkDir, t.TempDir())
	if len(r.Config) == 0 {
		r.Config = cfg.Config
	}
	return r
}
