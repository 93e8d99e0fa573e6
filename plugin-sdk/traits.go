package sdk

import "cmp"

// ProviderTraits are a provider's declarations about itself, which the kernel and `plugins info`
// trust. Package plugintest tests them. The zero values are the cautious assumption that the
// provider lacks the feature.
type ProviderTraits struct {
	// Models are the names of models known to work, in the order of display.
	Models []string `json:"models,omitempty"`
	// DefaultModel is used, and recorded in the plan, if the user names no model. May be empty.
	DefaultModel string `json:"default_model,omitempty"`
	// ModelChoice states which other model names are accepted. The zero value means [ModelsAny]
	// without Models and [ModelsListed] with Models.
	ModelChoice ModelChoice `json:"model_choice,omitempty"`
	// Locality is local, remote, or as configured.
	Locality Locality `json:"locality,omitempty"`

	// ReasoningEffort states that the provider has an effort setting, which its configuration schema describes.
	// Efforts are the setting's values, weakest first, and DefaultEffort is its default; both may be unknown.
	ReasoningEffort bool     `json:"reasoning_effort,omitempty"`
	Efforts         []string `json:"efforts,omitempty"`
	DefaultEffort   string   `json:"default_effort,omitempty"`

	// GatedTools states that the provider asks before each tool call ([Exchange.Call]) and obeys the
	// verdict. Calls can then be approved, and are not repeated after a crash. GatedTools is false for
	// agent command lines, which only report their calls.
	GatedTools bool `json:"gated_tools,omitempty"`
	// ObservedTools states that the provider reports the tool calls that its agent makes without asking
	// ([Exchange.Observe]), as far as the agent reports them.
	ObservedTools bool `json:"observed_tools,omitempty"`
	// Usage and Cost state when [Usage] holds token counts and CostUSD. A limit in tokens or
	// dollars binds only if the provider reports them.
	Usage Reporting `json:"usage,omitempty"`
	Cost  Reporting `json:"cost,omitempty"`

	// ContextTokens is the default model's context size in tokens, prompt and answers together; 0
	// means unknown. A pipeline whose policy.budget.total is "model" needs it.
	ContextTokens int64 `json:"context_tokens,omitempty"`

	// Resume states that the provider saves checkpoints and continues an interrupted attempt from the
	// last checkpoint ([ExecuteRequest.Resume]). Without Resume, an interrupted attempt starts over.
	Resume bool `json:"resume,omitempty"`
	// SoftCancel states that a cancelled attempt ends within its grace, leaves no process running, and
	// returns its results so far. A provider without this trait must also end, but may leave
	// processes behind.
	SoftCancel bool `json:"soft_cancel,omitempty"`

	// RequiresSandbox states that the provider runs only in isolation. The kernel uses at least the
	// sandbox mode workspace, or refuses to start the provider.
	RequiresSandbox bool `json:"requires_sandbox,omitempty"`
	// ConfinedByDefault states that the provider itself executes what a model asks for. The kernel uses the sandbox mode
	// workspace, or refuses to start the provider, unless the user asks for another mode.
	ConfinedByDefault bool `json:"confined_by_default,omitempty"`
	// NestedSandbox states that the agent has its own sandbox, which cannot run inside the kernel's sandbox.
	NestedSandbox bool `json:"nested_sandbox,omitempty"`
}

// Locality states where a provider's model runs. The modes local-only and airgapped refuse remote
// providers.
type Locality string

// The localities. The zero value means remote. LocalityConfigured: the configuration decides, and
// Validate refuses a location that the mode forbids.
const (
	LocalityLocal      Locality = "local"
	LocalityRemote     Locality = "remote"
	LocalityConfigured Locality = "configured"
)

// ModelChoice states which model names a provider accepts.
type ModelChoice string

// ModelsAny passes every name to the service. ModelsListed accepts only [ProviderTraits.Models],
// and ModelsConfigurable also names from the user's configuration. Both refuse other names in
// Validate.
const (
	ModelsAny          ModelChoice = "any"
	ModelsListed       ModelChoice = "listed"
	ModelsConfigurable ModelChoice = "configurable"
)

// Reporting states when a provider reports a figure.
type Reporting string

// ReportsNever is the meaning of the zero value. ReportsSome: it depends on the model or the
// configuration, for example on known prices. ReportsAlways: for every attempt that the agent
// completes, and for an interrupted attempt as far as known.
const (
	ReportsNever  Reporting = "never"
	ReportsSome   Reporting = "some"
	ReportsAlways Reporting = "always"
)

// WithDefaults returns t with every zero enumeration value replaced by its meaning.
func (t ProviderTraits) WithDefaults() ProviderTraits {
	t.Locality = cmp.Or(t.Locality, LocalityRemote)
	if t.ModelChoice == "" && len(t.Models) > 0 {
		t.ModelChoice = ModelsListed
	}
	t.ModelChoice = cmp.Or(t.ModelChoice, ModelsAny)
	t.Usage, t.Cost = cmp.Or(t.Usage, ReportsNever), cmp.Or(t.Cost, ReportsNever)
	t.ReasoningEffort = t.ReasoningEffort || len(t.Efforts) > 0
	return t
}
