package plugintest

import (
	"cmp"
	"context"
	"encoding/json"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// HookCase is one firing of a hook and what it should answer.
type HookCase struct {
	Name string
	// Request is completed with a key, a session, a work directory and the suite's config where it has none.
	Request sdk.HookRequest
	// Want is the action expected; the zero value is continue.
	Want sdk.Action
}

// HookActionConfig says how to provoke what the suite wants to see of a hook action.
type HookActionConfig struct {
	// New makes an action of its own for each check. Required.
	New func(testing.TB) sdk.HookAction
	// Config is a configuration that the action accepts.
	Config json.RawMessage
	// Cases are firings; at least one.
	Cases []HookCase
	// Refused are configurations that Validate must refuse, besides such as are no JSON at all.
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
	bothWays(t, build, []check{
		{"describes itself", func(t *testing.T, s side) { described(t, s, sdk.KindHookAction, cfg.New(t).Describe()) }},
		{"answers", cfg.answers},
		{"works on several calls", cfg.overlaps},
		{"honours a context that is over", cfg.cancelled},
		{"refuses garbage", func(t *testing.T, s side) {
			refuses(t, s.plugin.HookActions[0], validates(cfg.New(t)), cfg.Refused)
		}},
		{"survives garbage", cfg.survivesGarbage},
	})
}

func (cfg HookActionConfig) answers(t *testing.T, s side) {
	action := s.plugin.HookActions[0]
	prepare(t, action, "", cfg.Config)
	for _, c := range cfg.Cases {
		t.Run(c.Name, func(t *testing.T) {
			answer, err := action.Run(patient(t), cfg.request(t, c))
			if err != nil {
				t.Fatalf("run: %v", err)
			}
			legalAnswer(t, c.Request.Point, answer)
			if got, want := cmp.Or(answer.Action, sdk.ActionContinue), cmp.Or(c.Want, sdk.ActionContinue); got != want {
				t.Errorf("got %s (%s), want %s", got, answer.Reason, want)
			}
		})
	}
}

// legalAnswer demands what the kernel relies on.
func legalAnswer(t *testing.T, point sdk.HookPoint, a sdk.HookAnswer) {
	t.Helper()
	switch cmp.Or(a.Action, sdk.ActionContinue) {
	case sdk.ActionContinue, sdk.ActionAbort:
	case sdk.ActionPause, sdk.ActionRestartStage, sdk.ActionModifyContext:
		if point == sdk.SessionEnd {
			t.Errorf("%s at session_end, where nothing is left to do it to", a.Action)
		}
	default:
		t.Errorf("action %q is none", a.Action)
	}
	var facts map[string]any
	if len(a.Facts) > 0 && json.Unmarshal(a.Facts, &facts) != nil {
		t.Errorf("the facts are no JSON object: %q", a.Facts)
	}
}

func (cfg HookActionConfig) overlaps(t *testing.T, s side) {
	action := s.plugin.HookActions[0]
	prepare(t, action, "", cfg.Config)
	atOnce := concurrency
	if s.description.Components[0].Concurrency == sdk.ConcurrencySerial {
		atOnce = 1
	}
	together(atOnce, func(i int) {
		c := cfg.Cases[i%len(cfg.Cases)]
		if _, err := action.Run(patient(t), cfg.request(t, c)); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	})
}

// cancelled: with a context that is over an action returns, whether it still acted or not.
func (cfg HookActionConfig) cancelled(t *testing.T, s side) {
	action := s.plugin.HookActions[0]
	prepare(t, action, "", cfg.Config)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if answer, err := action.Run(ctx, cfg.request(t, cfg.Cases[0])); err == nil {
		legalAnswer(t, cfg.Cases[0].Request.Point, answer)
	}
}

// survivesGarbage: an error is fine, a process that ends is not.
func (cfg HookActionConfig) survivesGarbage(t *testing.T, s side) {
	action := s.plugin.HookActions[0]
	initialize(t, action)
	for _, junk := range garbage() {
		request := cfg.request(t, cfg.Cases[0])
		request.Config, request.Result = junk, junk
		if answer, err := action.Run(patient(t), request); err == nil {
			legalAnswer(t, request.Point, answer)
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
