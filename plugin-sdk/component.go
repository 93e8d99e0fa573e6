package sdk

import (
	"context"
	"encoding/json"
)

// Kind says which contract a component fulfils.
type Kind string

// The three kinds of components.
const (
	KindProvider    Kind = "provider"
	KindTermination Kind = "termination"
	KindHookAction  Kind = "hook_action"
)

// Component is how a component describes itself. The kernel reads it before anything else is
// called, caches it, and may compile pipelines against it without starting the plugin.
type Component struct {
	// Kind is filled in by package serve from the interface that the component implements.
	Kind Kind `json:"kind"`
	// Name is what a pipeline writes (provider: claude). Lower case letters, digits, '-' and '_'.
	Name string `json:"name"`
	// Aliases are further names that compile to Name. Default none.
	Aliases []string `json:"aliases,omitempty"`
	// Summary is one line for `plugins list`.
	Summary string `json:"summary,omitempty"`
	// ConfigSchema is a JSON Schema (draft 2020-12) of the component's config. Empty accepts anything.
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"`
	// Capabilities are named minor features, so that neither side needs a version number for them.
	// Unknown ones are ignored by both sides.
	Capabilities []string `json:"capabilities,omitempty"`
	// Concurrency says whether calls may overlap. The zero value is [ConcurrencySafe].
	Concurrency Concurrency `json:"concurrency,omitempty"`
	// Needs is what the component asks for where it is confined; nil for nothing.
	Needs *Needs `json:"needs,omitempty"`
	// Provider holds what only providers declare; nil for the other kinds.
	Provider *ProviderTraits `json:"provider,omitempty"`
}

// CapabilityShared says that one process may serve several sessions of a kernel at the same time. Whatever a call starts ends
// with the call, also where that is cancelled; what is remembered of a session's calls, another session's never see; and the
// fall of the process, which all calls on it then have to make again, costs little. Without it each session has a
// process of its own.
const CapabilityShared = "shared"

// Concurrency says whether the kernel may make calls on a component at the same time.
type Concurrency string

// Safe components are called concurrently, serial ones one call at a time for each process.
const (
	ConcurrencySafe   Concurrency = "safe"
	ConcurrencySerial Concurrency = "serial"
)

// Description is what a plugin binary says of itself, over Describe and as JSON on stdout for the
// argument "describe".
type Description struct {
	// Name and Version are the plugin's own; Version is a semantic version.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Protocols are the protocol majors that the binary speaks.
	Protocols []int `json:"protocols"`
	// SDK names the kit it was built with, for diagnosis ("go/0.1.0").
	SDK string `json:"sdk,omitempty"`
	// MTLS: the plugin can do go-plugin's AutoMTLS. Go plugins of this SDK can; others usually not.
	MTLS bool `json:"mtls"`
	// Components are served by this binary, ordered by kind and name.
	Components []Component `json:"components"`
}

// Plugin is a plugin binary as its author writes it down. Components of one kind have different
// names; at least one component is needed.
type Plugin struct {
	// Name is the part after agent-plugin- in the binary's name.
	Name string
	// Version is the plugin's semantic version, without a leading v.
	Version string

	Providers    []Provider
	Terminations []Termination
	HookActions  []HookAction
}

// Initializer is implemented by components that need one-time set-up. Init is called once for each
// process and component before any other call; an error bars the component from use. Of a process that is
// debugged (the argument debug), every kernel that uses it calls Init.
type Initializer interface {
	Init(ctx context.Context, req InitRequest) error
}

// InitRequest is the surroundings of a component.
type InitRequest struct {
	// WorkDir is the absolute path of the project that the run works on.
	WorkDir string
	// RunMarker identifies the kernel's run; the SDK also has it in the environment as
	// AGENT_PIPELINES_RUN, by which survivors of a crash are found.
	RunMarker string
	// Sandbox is the mode of the kernel's isolation that the process runs in, workspace or strict; "" for
	// none. An agent's own sandbox cannot run inside it, and the agent need not be careful for a second time.
	Sandbox string
}

// Validator is implemented by components that can refuse a configuration before work begins.
// Validate is called after Init and again whenever the configuration differs.
type Validator interface {
	Validate(ctx context.Context, req ValidateRequest) error
}

// ValidateRequest is what a component would be run with.
type ValidateRequest struct {
	// Model is the provider's model, "" for the other kinds or for the default.
	Model string
	// Config is the component's configuration as JSON; empty or "{}" when none is given.
	Config json.RawMessage
	// Mode is that of the run, for providers. "" is open.
	Mode Mode
}

// Examiner is implemented by components that can tell a person how what they depend on is, such as a version or a login.
// Examine is called after Validate has accepted the configuration. It answers within seconds, asks no network and costs
// nothing; what cannot be told that way is [FindingUnclear]. An error is for what keeps it from looking at all.
type Examiner interface {
	Examine(ctx context.Context, req ValidateRequest) ([]Finding, error)
}

// Finding is one thing that an [Examiner] found out.
type Finding struct {
	// About names it in a word or two: version, login.
	About string `json:"about"`
	// State says what it means for work. The zero value, and any other word, is [FindingUnclear].
	State FindingState `json:"state"`
	// Detail is what was found, in a line. Hint says what to do, "" for nothing.
	Detail string `json:"detail,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

// FindingState says what a [Finding] means for work.
type FindingState string

// The states.
const (
	FindingOK      FindingState = "ok"      // work can be done
	FindingUnclear FindingState = "unclear" // it cannot be told from here
	FindingBad     FindingState = "bad"     // work would fail
)

// Shutdowner is implemented by components that hold resources. Shutdown is called on a graceful
// stop; after a crash nobody calls it.
type Shutdowner interface {
	Shutdown(ctx context.Context) error
}
