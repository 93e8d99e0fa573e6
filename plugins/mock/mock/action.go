package mock

import (
	"cmp"
	"context"
	_ "embed" // the schema
	"encoding/json"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/schema"
)

// HookRecord is one line of the action's record file.
type HookRecord struct {
	Key       string          `json:"key"`
	Point     sdk.HookPoint   `json:"point"`
	Session   string          `json:"session"`
	Node      string          `json:"node"`
	Stage     string          `json:"stage"`
	Iteration int             `json:"iteration"`
	Provider  string          `json:"provider"`
	Status    string          `json:"status"`
	Summary   string          `json:"summary,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Artifact  string          `json:"artifact,omitempty"`
	Context   string          `json:"context,omitempty"`
	WorkDir   string          `json:"work_dir"`
	Message   string          `json:"message,omitempty"`
	TimeoutMS int64           `json:"timeout_ms,omitempty"`
}

// ActionConfig is the configuration of the hook action: its answer. The zero value continues.
type ActionConfig struct {
	Fault
	// Reply is continue (default), pause, abort, restart_stage or modify_context.
	Reply   sdk.Action `json:"answer,omitempty"`
	Reason  string     `json:"reason,omitempty"`
	Context string     `json:"context,omitempty"`
	// Facts is a JSON object with the measurement of a check.
	Facts   json.RawMessage `json:"facts,omitempty"`
	Outcome string          `json:"outcome,omitempty"`
	// Record is a file, relative to the work directory, to which every request is appended as a line of JSON.
	Record string `json:"record,omitempty"`
}

// actionSchema is the JSON Schema of the configuration, and actionRules decodes by it.
var (
	//go:embed schema/hook_action.json
	actionSchema []byte
	actionRules  = schema.New(actionSchema)
)

// Action is the hook action mock. Use [NewAction]. It is safe for concurrent use.
type Action struct{ process process }

// NewAction returns the hook action.
func NewAction() *Action { return &Action{process: currentProcess()} }

// Describe implements [sdk.HookAction].
func (a *Action) Describe() sdk.Component {
	return sdk.Component{
		Name:         "mock",
		Summary:      "returns a configured answer",
		ConfigSchema: actionSchema,
		Capabilities: []string{sdk.CapabilityShared},
		Needs:        &sdk.Needs{Commands: true}, // a configuration may run commands
	}
}

// Validate implements [sdk.Validator].
func (a *Action) Validate(_ context.Context, req sdk.ValidateRequest) error {
	return actionRules.Decode(req.Config, new(ActionConfig))
}

// Run returns the configured answer. Its errors are the configured errors, hook_timeout, signal_interrupt, and errors
// of an unusable configuration or record file.
func (a *Action) Run(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	var c ActionConfig
	if err := actionRules.Decode(req.Config, &c); err != nil {
		return sdk.HookAnswer{}, err
	}
	if c.Record != "" {
		if err := recordFiring(req, absolutePath(req.WorkDir, c.Record)); err != nil {
			return sdk.HookAnswer{}, err
		}
	}
	if req.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, req.Timeout, failure.New(failure.HookTimeout, "mock: no answer within %s", req.Timeout))
		defer cancel()
	}
	if err := a.process.applyFault(ctx, c.Fault, failure.HookFailed); err != nil {
		return sdk.HookAnswer{}, cmp.Or(context.Cause(ctx), err)
	}
	return sdk.HookAnswer{
		Action: cmp.Or(c.Reply, sdk.ActionContinue), Reason: c.Reason, Context: c.Context, Facts: c.Facts, Outcome: c.Outcome,
	}, nil
}

func recordFiring(req sdk.HookRequest, file string) error {
	line, err := json.Marshal(HookRecord{
		Key: req.Key, Point: req.Point, Session: req.Session, Node: req.Node, Stage: req.Stage, Iteration: req.Iteration,
		Provider: req.Provider, Status: req.Status, Summary: req.Summary, Result: req.Result, Artifact: req.Artifact,
		Context: req.Context, WorkDir: req.WorkDir, Message: req.Message, TimeoutMS: req.Timeout.Milliseconds(),
	})
	if err != nil {
		return fmt.Errorf("mock: record request: %w", err)
	}
	return appendLine(file, string(line))
}
