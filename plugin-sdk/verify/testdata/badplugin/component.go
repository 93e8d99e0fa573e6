package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const schema = `{"type": "object", "properties": {"setting": {"type": "integer"}, "type": {"type": "string"}}}`

// settings returns an error for invalid settings. All components have the same settings.
func settings(raw json.RawMessage) error {
	var s struct {
		Setting int `json:"setting"`
	}
	if len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return failure.New(failure.ConfigInvalid, "%w", err)
	}
	return nil
}

// worker is the provider; the prompt selects its behaviour.
type worker struct{ validating atomic.Int32 }

func (w *worker) Describe() sdk.Component {
	c := sdk.Component{
		Name: "worker", ConfigSchema: json.RawMessage(schema),
		Provider: &sdk.ProviderTraits{
			Models: []string{"one"}, DefaultModel: "one", Locality: sdk.LocalityLocal, GatedTools: true, ObservedTools: true,
			Usage: sdk.ReportsSome, Cost: sdk.ReportsNever, Resume: true, SoftCancel: true,
		},
	}
	if has("schema") {
		c.ConfigSchema = json.RawMessage(`{"type": "objekt"}`)
	}
	return c
}

func (w *worker) Init(context.Context, sdk.InitRequest) error {
	if has("init") {
		return errors.New("no licence")
	}
	return nil
}

func (w *worker) Validate(_ context.Context, req sdk.ValidateRequest) error {
	if n := w.validating.Add(1); has("narrow") && n > 1 {
		w.validating.Add(-1)
		return errors.New("one at a time")
	}
	defer w.validating.Add(-1)
	if has("narrow") {
		time.Sleep(time.Millisecond)
	}
	if req.Model != "" && req.Model != "one" {
		return failure.New(failure.ConfigInvalid, "there is no model %s", req.Model)
	}
	err := settings(req.Config)
	if has("crash") && err != nil {
		os.Exit(7)
	}
	return err
}

func (w *worker) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	switch prompt := strings.TrimSpace(req.Prompt); prompt {
	case "sleep", "busy":
		return sleep(ctx, req, prompt == "busy")
	case "idle":
		if has("braggart") {
			return sdk.ExecuteResult{Output: "done!", Outcome: sdk.OutcomeSucceeded}, nil
		}
		return sdk.ExecuteResult{Outcome: sdk.OutcomeEmpty}, nil
	case "large":
		return sdk.ExecuteResult{Output: strings.Repeat("x", 5<<20)}, nil
	case "full":
		return full(ctx, req, x)
	default:
		if has("chatty") {
			_, _ = os.NewFile(1, "stdout").Write([]byte(strings.Repeat("words\n", 1000)))
		}
		result := sdk.ExecuteResult{Output: "hello", Outcome: sdk.OutcomeSucceeded, Usage: usage(1)}
		if has("zero") {
			result.Usage = usage(0)
		}
		return result, nil
	}
}

func usage(n int64) *sdk.Usage { return &sdk.Usage{InputTokens: &n, OutputTokens: &n} }

// sleep waits for the request's timeout or for a cancellation, unless the mode ignores one of them.
func sleep(ctx context.Context, req sdk.ExecuteRequest, child bool) (sdk.ExecuteResult, error) {
	if child {
		stop, err := startChild(req)
		if err != nil {
			return sdk.ExecuteResult{}, err
		}
		defer stop()
	}
	var late <-chan time.Time
	if req.Timeout > 0 && !has("endless") {
		late = time.After(req.Timeout)
	}
	cancelled := ctx.Done()
	if has("stubborn") {
		cancelled = nil
	}
	for {
		select {
		case <-late:
			return sdk.ExecuteResult{}, failure.New(failure.ProviderTimeout, "too late")
		case <-cancelled:
			if has("endless") && !errors.Is(context.Cause(ctx), context.Canceled) {
				cancelled = nil
				continue
			}
			return sdk.ExecuteResult{}, ctx.Err()
		}
	}
}

// startChild starts a process in the plugin's group, or outside of it in the mode escape.
func startChild(req sdk.ExecuteRequest) (stop func(), err error) {
	cmd := exec.Command("sleep", "600")
	for _, entry := range os.Environ() {
		if has("open") || !strings.HasPrefix(entry, "PLUGIN_") && !strings.HasPrefix(entry, "AGENT_PIPELINES_PLUGIN_COOKIE") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	if has("escape") {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	for name, value := range req.Environment {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = cmd.Process.Kill()
		go func() { _ = cmd.Wait() }()
	}, nil
}

// full shows all declared traits.
func full(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	x.Observe(sdk.ToolCall{CallID: "o-1", Tool: "look"})
	x.ObserveResult(sdk.ToolResult{CallID: "o-1", Status: sdk.ToolSuccess})
	conversation := "c-1"
	if req.Resume != nil && has("stranger") {
		conversation = "c-2"
	}
	if req.Resume == nil {
		if err := x.Checkpoint(ctx, sdk.Checkpoint{Turn: 1, Blob: []byte("one")}); err != nil {
			return sdk.ExecuteResult{}, err
		}
		verdict, err := x.Call(ctx, sdk.ToolCall{CallID: "g-1", Tool: "write"})
		if err != nil {
			return sdk.ExecuteResult{}, err
		}
		status := sdk.ToolSuccess
		if verdict.Action != sdk.VerdictRun && !has("wilful") {
			status = sdk.ToolDenied
		}
		x.Result(sdk.ToolResult{CallID: "g-1", Status: status})
	}
	return sdk.ExecuteResult{Output: "all of it", Outcome: sdk.OutcomeSucceeded, Usage: usage(3), Conversation: conversation}, nil
}

// decider is the strategy. It stops at the third iteration, and its state is the iteration.
type decider struct {
	mu    sync.Mutex
	asked int
}

func (d *decider) Describe() sdk.Component {
	return sdk.Component{Name: "decider", ConfigSchema: json.RawMessage(schema)}
}

func (d *decider) Validate(_ context.Context, req sdk.ValidateRequest) error {
	return settings(req.Config)
}

func (d *decider) Decide(_ context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	state := fmt.Sprintf(`{"iteration": %d}`, req.Iteration)
	if has("moody") {
		state = fmt.Sprintf(`{"asked": %d}`, d.asked)
	}
	decision := sdk.Decision{Action: sdk.DecisionContinue, State: json.RawMessage(state)}
	if req.Iteration >= 3 {
		decision.Action = sdk.DecisionStop
	}
	if has("curious") {
		decision.Action = sdk.DecisionAsk
	}
	return decision, nil
}

func (d *decider) Release(context.Context, string) error {
	if has("clingy") {
		return errors.New("unknown session")
	}
	return nil
}

// caller is the hook action.
type caller struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (c *caller) Describe() sdk.Component {
	return sdk.Component{Name: "caller", ConfigSchema: json.RawMessage(schema)}
}

func (c *caller) Validate(_ context.Context, req sdk.ValidateRequest) error {
	return settings(req.Config)
}

func (c *caller) Run(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	c.mu.Lock()
	again := c.seen[req.Key]
	c.seen[req.Key] = true
	c.mu.Unlock()
	switch {
	case strings.Contains(string(req.Config), "slow"):
		select {
		case <-time.After(req.Timeout):
			if has("unclear") {
				return sdk.HookAnswer{}, errors.New("something went wrong")
			}
			return sdk.HookAnswer{}, failure.New(failure.HookTimeout, "too late")
		case <-ctx.Done():
			return sdk.HookAnswer{}, ctx.Err()
		}
	case again && has("twice"):
		return sdk.HookAnswer{}, errors.New("that was done")
	case has("factual"):
		return sdk.HookAnswer{Facts: json.RawMessage(`[1]`)}, nil
	}
	return sdk.HookAnswer{}, nil
}
