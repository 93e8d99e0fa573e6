package sdk

import (
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
	// Concurrency states whether calls may overlap. The zero value is [ConcurrencySafe].
	Concurrency Concurrency `json:"concurrency,omitempty"`
	// Needs lists the component's requests for access while it is confined. Default: nil, no
	// access.
	Needs *Needs `json:"needs,omitempty"`
	// Provider holds the traits of a provider; nil for the other kinds.
	Provider *ProviderTraits `json:"provider,omitempty"`
}

// CapabilityShared states that one process may serve several sessions of a kernel concurrently.
// Without it each session has its own process.
//
// When a call ends or is cancelled, a component with this capability ends everything that the call
// started. It never shows one session's data to another. Repeating all calls after a crash of the
// process must be cheap.
const CapabilityShared = "shared"

// CapabilityConfinedTools states that the component starts every program by confine.Tool, and that a provider's own
// connections are only those to the model. In a sandbox without network the programs then have none but a loopback
// interface, and the component keeps its own. That counts only for a plugin that is shipped with the kernel's program;
// others lose their network as well.
const CapabilityConfinedTools = "confined_tools"

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
	// Name and Version are the name and the semantic version of the plugin.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Protocols are the protocol majors that the binary supports.
	Protocols []int `json:"protocols"`
	// SDK names the SDK that the binary was built with ("go/0.1.0"), for diagnosis.
	SDK string `json:"sdk,omitempty"`
	// MTLS states that the plugin supports go-plugin's AutoMTLS. Go plugins of this SDK do; others
	// usually do not.
	MTLS bool `json:"mtls"`
	// Components are the components of this binary, ordered by kind and name.
	Components []Component `json:"components"`
}
