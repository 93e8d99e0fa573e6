package sdk

// ProviderTraits is what a provider declares about itself. The kernel and the reader of `plugins info`
// take its word for it; package plugintest holds it to its word. Zero values are the careful
// assumption: the provider cannot.
type ProviderTraits struct {
	// Models are the model names known to work, in the order in which a person should read them.
	Models []string `json:"models,omitempty"`
	// DefaultModel is used, and written into the plan, when nobody names a model. May be empty.
	DefaultModel string `json:"default_model,omitempty"`
	// ModelChoice says which other names may be asked for. The zero value is [ModelsAny] without
	// Models and [ModelsListed] with some.
	ModelChoice ModelChoice `json:"model_choice,omitempty"`
	// Locality is local, remote, or as configured.
	Locality Locality `json:"locality,omitempty"`

	// ReasoningEffort: the provider understands an effort setting. Efforts are its words for it, the
	// weakest first, and DefaultEffort the one used when nobody names one; both may be unknown. How an
	// effort is asked for is the provider's own affair: its configuration schema says it.
	ReasoningEffort bool     `json:"reasoning_effort,omitempty"`
	Efforts         []string `json:"efforts,omitempty"`
	DefaultEffort   string   `json:"default_effort,omitempty"`

	// GatedTools: the provider asks before each tool call ([Exchange.Call]) and honours the verdict, so
	// that calls can be approved and are not repeated after a crash. Agent command lines, which only
	// report their calls, say false.
	GatedTools bool `json:"gated_tools,omitempty"`
	// ObservedTools: the provider reports the calls that its agent makes on its own authority
	// ([Exchange.Observe]), as far as the agent tells of them.
	ObservedTools bool `json:"observed_tools,omitempty"`
	// Usage and Cost say when [Usage] holds token counts and CostUSD: a limit in tokens or in dollars
	// binds only where they are reported.
	Usage Reporting `json:"usage,omitempty"`
	Cost  Reporting `json:"cost,omitempty"`

	// ContextTokens is how many tokens the default model takes in, prompt and answers together; 0: it is not
	// known. A pipeline whose policy.budget.total is "model" needs it.
	ContextTokens int64 `json:"context_tokens,omitempty"`

	// Resume: the provider saves checkpoints and goes on from the last one when an attempt was cut off
	// ([ExecuteRequest.Resume]). Without it such an attempt begins anew.
	Resume bool `json:"resume,omitempty"`
	// SoftCancel: a cancelled attempt ends within its grace, leaves nothing running that it started, and
	// yields what is known by then. Every provider has to end; one that does not declare this may leave
	// processes behind.
	SoftCancel bool `json:"soft_cancel,omitempty"`

	// RequiresSandbox: the provider refuses to run outside isolation; the kernel then fails closed.
	RequiresSandbox bool `json:"requires_sandbox,omitempty"`
	// NestedSandbox: the agent brings its own sandbox, which cannot run inside the kernel's.
	NestedSandbox bool `json:"nested_sandbox,omitempty"`
}

// Locality says where the model behind a provider runs; modes local-only and airgapped refuse
// remote providers.
type Locality string

// The localities. The zero value is read as remote, the careful assumption. Configured: the provider's
// configuration says it, and Validate refuses what the mode does not allow.
const (
	LocalityLocal      Locality = "local"
	LocalityRemote     Locality = "remote"
	LocalityConfigured Locality = "configured"
)

// ModelChoice says which model names a provider takes.
type ModelChoice string

// Any passes every name on and leaves it to the service to refuse it. Listed takes the names of
// [ProviderTraits.Models] alone, Configurable also those that the user's configuration adds; both
// refuse others in Validate, before any work.
const (
	ModelsAny          ModelChoice = "any"
	ModelsListed       ModelChoice = "listed"
	ModelsConfigurable ModelChoice = "configurable"
)

// Reporting says when a provider reports a figure.
type Reporting string

// Never is the zero value's meaning. Some: it depends on the model or the configuration, where prices
// are known for some models only, say. Always: of every attempt that the agent brings to its end; of one
// that is cut short as far as it is known.
const (
	ReportsNever  Reporting = "never"
	ReportsSome   Reporting = "some"
	ReportsAlways Reporting = "always"
)

// Complete is t with every zero value that stands for a word replaced by that word.
func (t ProviderTraits) Complete() ProviderTraits {
	if t.Locality == "" {
		t.Locality = LocalityRemote
	}
	if t.ModelChoice == "" {
		t.ModelChoice = ModelsAny
		if len(t.Models) > 0 {
			t.ModelChoice = ModelsListed
		}
	}
	if t.Usage == "" {
		t.Usage = ReportsNever
	}
	if t.Cost == "" {
		t.Cost = ReportsNever
	}
	t.ReasoningEffort = t.ReasoningEffort || len(t.Efforts) > 0
	return t
}
