package sdk

import (
	"context"
	"encoding/json"
)

// Kind is the contract that a component fulfils.
type Kind string

// The kinds of components.
const (
	KindProvider    Kind = "provider"
	KindTermination Kind = "termination"
	KindHookAction  Kind = "hook_action"
)

// Component is a component's description of itself. The kernel reads and caches it first, and may
// compile pipelines against it without starting the plugin.
type Component struct {
	// Kind is set by package serve from the interface that the component implements.
	Kind Kind `json:"kind"`
	// Name is the component's name in a pipeline (provider: claude): lower-case letters, digits,
	// '-' and '_'.
	Name string `json:"name"`
	// Aliases are further names that compile to Name. Default: none.
	Aliases []string `json:"aliases,omitempty"`
	// Summary is the line that `plugins list` prints.
	Summary string `json:"summary,omitempty"`
	// ConfigSchema is a JSON Schema (draft 2020-12) of the component's config. An empty schema
	// accepts anything.
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"`
	// Capabilities are named minor features, which need no protocol version. Both sides ignore
	// unknown names.
	Capabilities []string `json:"capabilities,omitempty"`
	// Concurrency says whether calls may overlap. The zero value is [ConcurrencySafe].
	Concurrency Concurrency `json:"concurrency,omitempty"`
	// Needs lists the component's requests for access while it is confined. Default: nil, no
	// access.
	Needs *Needs `json:"needs,omitempty"`
	// Provider holds what only providers declare; nil for the other kinds.
	Provider *ProviderTraits `json:"provider,omitempty"`
}

// CapabilityShared states that one process may serve several sessions of a kernel concurrently.
// Without it each session has its own process.
//
// A component that declares it ends everything that a call starts when the call ends or is
// cancelled, and never shows one session's data to another. Repeating all calls after a crash of
// the process must be cheap.
const CapabilityShared = "shared"

// Concurrency states whether the kernel may call a component concurrently.
type Concurrency string

// ConcurrencySafe allows concurrent calls; ConcurrencySerial allows one call at a time per process.
const (
	ConcurrencySafe   Concurrency = "safe"
	ConcurrencySerial Concurrency = "serial"
)

// Description is a plugin binary's description of itself, returned by Describe and printed as JSON
// for the argument "describe".
type Description struct {
	// Name and Version belong to the plugin; Version is a semantic version.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Protocols are the protocol majors that the binary speaks.
	Protocols []int `json:"protocols"`
	// SDK names the SDK that the binary was built with ("go/0.1.0"), for diagnosis.
	SDK string `json:"sdk,omitempty"`
	// MTLS states that the plugin supports go-plugin's AutoMTLS. Go plugins of this SDK do; others
	// usually do not.
	MTLS bool `json:"mtls"`
	// Components are the components of this binary, ordered by kind and name.
	Components []Component `json:"components"`
}

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
// process and component before any other call; after an error the component is not used.
//
// In a debugged process (argument debug) every kernel that connects calls Init.
type Initializer interface {
	Init(ctx context.Context, req InitRequest) error
}

// InitRequest describes the environment of a component.
type InitRequest struct {
	// WorkDir is the absolute path of the run's project.
	WorkDir string
	// RunMarker identifies the kernel's run. The SDK also sets it in the environment as
	// AGENT_PIPELINES_RUN, by which processes that survive a crash are found.
	RunMarker string
	// Sandbox is the kernel's isolation mode of the process: workspace, strict, or "" for none. An
	// agent's own sandbox cannot run inside it and is not needed.
	Sandbox string
}

// Validator is implemented by components that can refuse a configuration before work begins.
// Validate is called after Init and again whenever the configuration changes.
type Validator interface {
	Validate(ctx context.Context, req ValidateRequest) error
}

// ValidateRequest is the configuration that a component would run with.
type ValidateRequest struct {
	// Model is the provider's model; "" for the default and for other kinds.
	Model string
	// Config is the component's configuration as JSON. Default: empty or "{}".
	Config json.RawMessage
	// Mode is the run's mode, for providers. "" means open.
	Mode Mode
}

// Diagnoser is implemented by components that can check their dependencies, such as a version or a
// login. Examine is called after Validate has accepted the configuration.
//
// It answers within seconds, without network and without cost. It reports [FindingUnclear] where
// that is not enough, and an error only if it cannot check at all.
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
