package plan

import (
	"encoding/json"
	"math"
	"time"
)

// Policy holds limits and safety settings of a pipeline or a node. The policy of a node overrides that of its pipeline,
// field by field. Zero values mean "not set". Durations are seconds.
type Policy struct {
	Mode         string          `json:"mode,omitempty"` // one of [Modes]; the strictest of all enclosing scopes applies
	Timeout      float64         `json:"timeout,omitempty"`
	StageTimeout float64         `json:"stage_timeout,omitempty"`
	IdleTimeout  float64         `json:"idle_timeout,omitempty"`
	Retry        *Retry          `json:"retry,omitempty"`
	Recovery     Recovery        `json:"recovery,omitempty"`
	Required     bool            `json:"required,omitempty"`
	Env          json.RawMessage `json:"env,omitempty"` // "inherit", "minimal" or a list of names
	Context      string          `json:"context,omitempty"`
	Cycles       *Cycles         `json:"cycles,omitempty"`
	Budget       *Budget         `json:"budget,omitempty"`
	Escalation   *Escalation     `json:"escalation,omitempty"`
	Feedback     *Feedback       `json:"feedback,omitempty"`
	Approvals    *Approvals      `json:"approvals,omitempty"`
	Sandbox      *Sandbox        `json:"sandbox,omitempty"`
	Cost         *Cost           `json:"cost,omitempty"` // not inherited: see [Plan.Ceilings]
	Tools        *Tools          `json:"tools,omitempty"`
	Secrets      *Secrets        `json:"secrets,omitempty"`
}

// Tools bound the tools of agents whose provider implements tools itself.
type Tools struct {
	// AllowedCommands are names of programs; nil is the provider's own list, empty allows none.
	AllowedCommands []string `json:"allowed_commands,omitzero"`
	CommandTimeout  float64  `json:"command_timeout,omitempty"`   // of one command, in seconds
	MaxResultTokens int      `json:"max_result_tokens,omitempty"` // of one result
}

// Secrets are additional patterns of secrets.
type Secrets struct {
	Patterns []string `json:"patterns,omitempty"` // RE2
}

// Retry is the retry policy of attempts. Backoff are the pauses in seconds before the second, third, … attempt; the
// last one repeats.
type Retry struct {
	Attempts int       `json:"attempts,omitempty"` // attempts in all for a plain node, default 2
	Step     int       `json:"step,omitempty"`     // retries of a step, default 3
	Stage    int       `json:"stage,omitempty"`    // stage retries, default 2
	Backoff  []float64 `json:"backoff,omitempty"`
	// OnStageRetry is the number of attempts of a failed step in a stage retry: renew (the default) for as many as
	// before; single for one.
	OnStageRetry string `json:"on_stage_retry,omitempty"`
}

// Recovery is the treatment of an attempt that a crash interrupted.
type Recovery string

// Rerun repeats the attempt, Ask asks the user, Fail fails the node.
const (
	RecoveryRerun Recovery = "rerun" // as Ask if the crash interrupted a call that must not run twice
	RecoveryAsk   Recovery = "ask"
	RecoveryFail  Recovery = "fail"
)

// Cycles bound how often back edges may be taken.
type Cycles struct {
	Default int `json:"default,omitempty"` // for each edge, default [DefaultCycles]
	// Max is the maximum limit of an edge and the maximum number of re-entries of a node; default and upper bound
	// [MaxCycles].
	Max     int `json:"max,omitempty"`
	Session int `json:"session,omitempty"` // for the whole run, default [DefaultSessionCycles]
	// Identical is how often in a row an edge may lead back with the same output of the cycle. 0: outputs are not compared.
	Identical int `json:"identical,omitempty"`
}

// The limits of cycles (REQUIREMENTS K31, K37).
const (
	DefaultCycles        = 3
	MaxCycles            = 10
	DefaultSessionCycles = 30
)

// Budget bounds the tokens of prompts. Shares are percentages of Total, by node id.
type Budget struct {
	Total  json.RawMessage `json:"total,omitempty"` // a number, or "model"
	Shares map[string]int  `json:"shares,omitempty"`
}

// Cost is a ceiling for the consumption of attempts: of a pipeline for the whole session, of an embedded one for all
// its runs, of a node for all its visits. 0 means no ceiling. An attempt begins only if its reservation fits.
type Cost struct {
	MaxUSD    float64 `json:"max_usd,omitempty"`
	MaxTokens int64   `json:"max_tokens,omitempty"` // input, output and cache writes, without cache reads
	WarnUSD   float64 `json:"warn_usd,omitempty"`
	// ReserveUSD and ReserveTokens are the expected maximum consumption of an attempt, and the charge of an attempt
	// that does not report its usage. 0: the highest usage so far, or everything that is left if no attempt has
	// reported its usage yet.
	ReserveUSD    float64 `json:"reserve_usd,omitempty"`
	ReserveTokens int64   `json:"reserve_tokens,omitempty"`
}

// Escalation is the policy for questions about stuck work. Zero values mean "not set".
type Escalation struct {
	OnLimit string `json:"on_limit,omitempty"` // pause, failed, abort
	// Wait keeps the session running, with its lock, until the answer; see [Escalation.Waits].
	Wait *bool `json:"wait,omitempty"`
	// Timeout is the maximum wait of a running session in seconds, default [DefaultEscalationTimeout], and OnTimeout
	// the action then: abort, the default, pause or failed. A paused session waits without limit.
	Timeout   float64 `json:"timeout,omitempty"`
	OnTimeout string  `json:"on_timeout,omitempty"`
	// Poll is the interval in seconds at which a waiting session looks for the resolution, default
	// [DefaultEscalationPoll].
	Poll float64 `json:"poll,omitempty"`
}

// The defaults of [Escalation] in seconds (REQUIREMENTS U128).
const (
	DefaultEscalationTimeout = 86_400
	DefaultEscalationPoll    = 5
)

// Waits reports whether a session keeps running during an escalation. It is false for nil.
func (e *Escalation) Waits() bool { return e != nil && e.Wait != nil && *e.Wait }

// Feedback limits how often the user's feedback may restart a stage.
type Feedback struct {
	Enabled bool `json:"enabled"` // false only if the file sets enabled: false
	// Max is the limit for each node, from 1 to [MaxFeedback]; 0 is the scheduler's default.
	Max int `json:"max,omitempty"`
}

// MaxFeedback is the maximum of [Feedback.Max] (K31).
const MaxFeedback = 10

// Approvals decide on tool calls that a provider asks about.
type Approvals struct {
	Default Approval `json:"default,omitempty"` // auto, prompt or deny; "": auto to read or make directories, else prompt
	Timeout float64  `json:"timeout,omitempty"` // seconds for the user's answer, 0 for no limit
	// OnTimeout is deny, skip or escalate; "" is deny.
	OnTimeout Approval `json:"on_timeout,omitempty"`
	// NonInteractive is the decision if the user cannot be asked: auto, skip, fail or deny; "" is deny (K25).
	NonInteractive Approval `json:"non_interactive,omitempty"`
	// Categories decide on kinds of operations ([sdk.Category]) that no rule matches.
	Categories map[string]Approval `json:"categories,omitempty"`
	// Rules are applied in order to each path or command of a call; the first that matches decides.
	Rules []ApprovalRule `json:"rules,omitempty"`
	// Protected are globs of paths that no rule can allow to be written, in addition to the built-in ones.
	Protected []string `json:"protected,omitempty"`
}

// ApprovalRule decides on the operations that it matches.
type ApprovalRule struct {
	Name      string `json:"name,omitempty"`
	Operation string `json:"operation,omitempty"` // a category, "" for all
	// Pattern is a glob of paths, for commands a regular expression (RE2); a leading "!" negates it.
	Pattern string `json:"pattern,omitempty"`
	// DeliveryModes are the modes of the runs in which the rule counts; empty: all.
	DeliveryModes []DeliveryMode `json:"delivery_modes,omitempty"`
	Policy        Approval       `json:"policy"`
}

// IsOnCommands reports whether the rule's pattern is about commands, as for external requests, and not about paths.
func (r ApprovalRule) IsOnCommands() bool {
	return r.Operation == "terminal_command" || r.Operation == "external_request"
}

// Approval is a decision on a tool call.
type Approval string

// The decisions.
const (
	ApprovalAuto     Approval = "auto"     // the call is made
	ApprovalPrompt   Approval = "prompt"   // the user is asked
	ApprovalDeny     Approval = "deny"     // the call is refused
	ApprovalSkip     Approval = "skip"     // the call is left out, and the agent continues
	ApprovalEscalate Approval = "escalate" // the session pauses for the user
	ApprovalFail     Approval = "fail"     // the run ends
)

// The modes restrict where the models of a run may be (REQUIREMENTS K4).
const (
	ModeOpen      = "open"       // anywhere; the default
	ModeBurst     = "burst"      // anywhere, with doubled time limits and attempts
	ModeLocalOnly = "local-only" // on this machine, or at an address that the user's provider settings mark as local
	ModeAirgapped = "airgapped"  // the same, without tools that reach the network
)

// Modes returns all modes, the weakest first.
func Modes() []string { return []string{ModeOpen, ModeBurst, ModeLocalOnly, ModeAirgapped} }

// StricterMode returns the stricter of two modes; "" means not set.
func StricterMode(a, b string) string { return stricter(a, b, Modes()) }

// LocalMode reports whether a mode allows only local models.
func LocalMode(mode string) bool { return mode == ModeLocalOnly || mode == ModeAirgapped }

// DefaultAttempts is the number of attempts of a plain node (K6).
const DefaultAttempts = 2

// Guardrails bound the running time of a run or of a visit of a node. Running time passes while a kernel holds the
// session. A node's own override its stage's.
type Guardrails struct {
	MaxRuntimeSeconds float64 `json:"max_runtime_seconds"` // more than 0
	Source            string  `json:"at,omitempty"`        // its source, file:line:column, or the label of the override
}

// maxRuntime is a running time that is never reached and can be added to any date.
const maxRuntime = 100 * 365 * 24 * time.Hour

// Limit returns the maximum running time, at most 100 years.
func (g *Guardrails) Limit() time.Duration {
	return time.Duration(math.Min(g.MaxRuntimeSeconds, maxRuntime.Seconds()) * float64(time.Second))
}
