package sdk

import (
	"context"
	"encoding/json"
)

// Plugin is a plugin binary as its author defines it. It needs at least one component; components
// of one kind have different names.
type Plugin struct {
	// Name is the suffix of the binary's name after agent-plugin-.
	Name string
	// Version is the plugin's semantic version, without a leading v.
	Version string

	Providers    []Provider
	Terminations []Termination
	HookActions  []HookAction
}

// Initializer is implemented by components that need one-time set-up. Init is called once per
// process and component, before any other call on the component. After an error the component is
// not used.
//
// In a debugged process (argument debug) every kernel that connects calls Init.
type Initializer interface {
	Init(ctx context.Context, req InitRequest) error
}

// InitRequest describes the environment of a component.
type InitRequest struct {
	// WorkDir is the absolute path of the run's project.
	WorkDir string
	// RunMarker identifies the run and its kernel. It is also the value of the process's variable
	// AGENT_PIPELINES_RUN, by which the kernel finds processes that survive a crash.
	RunMarker string
	// Sandbox is the kernel's isolation mode of the process: workspace, strict, or "" for none. An
	// agent's own sandbox cannot run inside this isolation and is not needed.
	Sandbox string
}

// Validator is implemented by components that can refuse a configuration before work begins.
// Validate is called after Init and again whenever the configuration changes.
type Validator interface {
	Validate(ctx context.Context, req ValidateRequest) error
}

// ValidateRequest is the configuration that a component would run with.
type ValidateRequest struct {
	// Model is the provider's model; "" for the default, and for other kinds of components.
	Model string
	// Config is the component's configuration as JSON. Default: empty or "{}".
	Config json.RawMessage
	// Mode is the run's mode, for providers. "" means open.
	Mode Mode
}

// Diagnoser is implemented by components that can check their dependencies, such as a version or a
// login. Diagnose is called after Validate has accepted the configuration.
//
// Diagnose returns within seconds, without network and without cost. It reports [FindingUnclear]
// if a check needs more than this, and returns an error only if no check is possible.
type Diagnoser interface {
	Diagnose(ctx context.Context, req ValidateRequest) ([]Finding, error)
}

// Finding is one result of a [Diagnoser].
type Finding struct {
	// About is the finding's subject in one or two words: version, login.
	About string `json:"about"`
	// State is the effect on work. The zero value and unknown values mean [FindingUnclear].
	State FindingState `json:"state"`
	// Detail is the finding in one line. Hint is the user's next step, "" for none.
	Detail string `json:"detail,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

// FindingState is the effect of a [Finding] on work.
type FindingState string

// The states of a finding.
const (
	FindingOK      FindingState = "ok"      // work is possible
	FindingUnclear FindingState = "unclear" // not known without network or cost
	FindingBad     FindingState = "bad"     // work would fail
)

// Shutdowner is implemented by components that hold resources. Shutdown is called on a graceful
// stop, not after a crash.
type Shutdowner interface {
	Shutdown(ctx context.Context) error
}
