package plan

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// Policy holds limits and safety settings of a pipeline or a node; a node's own win field by field.
// Zero values mean "not said". Durations are seconds.
type Policy struct {
	Mode         string          `json:"mode,omitempty"` // one of [Modes]; the strictest word on the way down holds
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
	Cost         *Cost           `json:"cost,omitempty"` // is not handed down: see [Plan.Ceilings]
	Tools        *Tools          `json:"tools,omitempty"`
	Secrets      *Secrets        `json:"secrets,omitempty"`
}

// Tools bound the tools of agents whose provider has its own.
type Tools struct {
	// AllowedCommands are names of programs; nil is the provider's own list, empty allows none.
	AllowedCommands []string `json:"allowed_commands,omitzero"`
	CommandTimeout  float64  `json:"command_timeout,omitempty"`   // of one command, in seconds
	MaxResultTokens int      `json:"max_result_tokens,omitempty"` // of one result
}

// Secrets say what is a secret besides what always is one.
type Secrets struct {
	Patterns []string `json:"patterns,omitempty"` // RE2
}

// Retry says how often an attempt is made again. Backoff are the pauses in seconds before the
// second, third, … attempt; the last one repeats.
type Retry struct {
	Attempts int       `json:"attempts,omitempty"` // attempts in all for a plain node, default 2
	Step     int       `json:"step,omitempty"`     // retries of a step, default 3
	Stage    int       `json:"stage,omitempty"`    // stage retries, default 2
	Backoff  []float64 `json:"backoff,omitempty"`
	// OnStageRetry says how often a step that failed is tried in a stage retry: renew (the default), as often as
	// the first time; single, once.
	OnStageRetry string `json:"on_stage_retry,omitempty"`
}

// Recovery says what becomes of an attempt that a crash cut off.
type Recovery string

// Rerun makes the attempt again, Ask puts a question to a person, Fail fails the node.
const (
	RecoveryRerun Recovery = "rerun"
	RecoveryAsk   Recovery = "ask"
	RecoveryFail  Recovery = "fail"
)

// Cycles bound how often back edges may be taken.
type Cycles struct {
	Default int `json:"default,omitempty"` // for each edge, default [DefaultCycles]
	// Max is the most that an edge may ask for and the most that a node is re-entered, default and at most [MaxCycles].
	Max     int `json:"max,omitempty"`
	Session int `json:"session,omitempty"` // for the whole run, default [DefaultSessionCycles]
	// Identical is how many equal passes in a row over the nodes of a cycle count as its limit; 0: they are not compared.
	Identical int `json:"identical,omitempty"`
}

// The limits of cycles (REQUIREMENTS K31, K37).
const (
	DefaultCycles        = 3
	MaxCycles            = 10
	DefaultSessionCycles = 30
)

// Budget bounds the tokens of prompts; shares are percent of the total by node id.
type Budget struct {
	Total  json.RawMessage `json:"total,omitempty"` // a number, or "model"
	Shares map[string]int  `json:"shares,omitempty"`
}

// Cost is a ceiling of what attempts may consume: that of a pipeline holds for the whole session, in an embedded one
// for all its runs; that of a node for all its visits. 0 is no ceiling. An attempt begins only if what is reserved
// for it still fits.
type Cost struct {
	MaxUSD    float64 `json:"max_usd,omitempty"`
	MaxTokens int64   `json:"max_tokens,omitempty"` // input and output, without what a cache served
	WarnUSD   float64 `json:"warn_usd,omitempty"`
	// ReserveUSD and ReserveTokens are what an attempt is expected to consume at most, and what one that does not
	// say counts as. 0: as much as the dearest so far, and all that is left where none has ended yet.
	ReserveUSD    float64 `json:"reserve_usd,omitempty"`
	ReserveTokens int64   `json:"reserve_tokens,omitempty"`
}

// Escalation says what happens when a person is needed. Zero values mean "not said".
type Escalation struct {
	OnLimit string `json:"on_limit,omitempty"` // pause, failed, abort
	// Wait: the session keeps running and holds its lock until somebody answers; see [Escalation.Waits].
	Wait *bool `json:"wait,omitempty"`
	// Timeout is how long it does so, in seconds, default [DefaultEscalationTimeout], and OnTimeout what happens then:
	// abort, the default, pause or failed. A paused session waits without limit.
	Timeout   float64 `json:"timeout,omitempty"`
	OnTimeout string  `json:"on_timeout,omitempty"`
	// Poll is how often a waiting session looks for the resolution, in seconds, default [DefaultEscalationPoll].
	Poll float64 `json:"poll,omitempty"`
}

// The defaults of [Escalation] in seconds (REQUIREMENTS U128).
const (
	DefaultEscalationTimeout = 86_400
	DefaultEscalationPoll    = 5
)

// Waits reports whether a session keeps running while a person is needed, also for nil.
func (e *Escalation) Waits() bool { return e != nil && e.Wait != nil && *e.Wait }

// Feedback says how often what a person has to say of a stage's work sends the stage back.
type Feedback struct {
	Enabled bool `json:"enabled"` // true where the key is there and does not say otherwise
	// Max is for each node, from 1 to [MaxFeedback]; 0 is the scheduler's own number.
	Max int `json:"max,omitempty"`
}

// MaxFeedback is the most that [Feedback] can allow (K31).
const MaxFeedback = 10

// Approvals say who decides on a tool call that a provider asks about.
type Approvals struct {
	Default Approval `json:"default,omitempty"` // auto, prompt or deny; "" is prompt
	Timeout float64  `json:"timeout,omitempty"` // seconds for a person's answer, 0 for no limit
	// OnTimeout is deny, skip or escalate; "" is deny.
	OnTimeout Approval `json:"on_timeout,omitempty"`
	// NonInteractive is what happens where nobody can be asked: auto, skip, fail or deny; "" is deny (K25).
	NonInteractive Approval `json:"non_interactive,omitempty"`
	// Categories rule on kinds of operations ([sdk.Category]) that no rule speaks of.
	Categories map[string]Approval `json:"categories,omitempty"`
	// Rules are looked at in order, for each path or command of a call; the first that matches decides.
	Rules []ApprovalRule `json:"rules,omitempty"`
	// Protected are globs of paths that no rule can allow to be written, besides those that always are.
	Protected []string `json:"protected,omitempty"`
}

// ApprovalRule decides on the operations that it matches.
type ApprovalRule struct {
	Name      string `json:"name,omitempty"`
	Operation string `json:"operation,omitempty"` // a category, "" for all
	// Pattern is a glob of paths, for terminal commands a regular expression (RE2); one that begins with "!" matches
	// what the rest of it does not.
	Pattern string   `json:"pattern,omitempty"`
	Policy  Approval `json:"policy"`
}

// Approval is a decision on a tool call.
type Approval string

// The decisions.
const (
	ApprovalAuto     Approval = "auto"     // the call is made
	ApprovalPrompt   Approval = "prompt"   // a person is asked
	ApprovalDeny     Approval = "deny"     // the call is refused
	ApprovalSkip     Approval = "skip"     // the call is left out, and the agent goes on
	ApprovalEscalate Approval = "escalate" // the session pauses for a person
	ApprovalFail     Approval = "fail"     // the run ends
)

// The modes: where the models of a run may be (REQUIREMENTS K4).
const (
	ModeOpen      = "open"       // anywhere; the same as no word
	ModeBurst     = "burst"      // anywhere, with twice the time and twice the attempts
	ModeLocalOnly = "local-only" // on this machine, or where the user's configuration of a provider says is local
	ModeAirgapped = "airgapped"  // the same, and no tool that reaches the network
)

// Modes are all words, the weakest first.
func Modes() []string { return []string{ModeOpen, ModeBurst, ModeLocalOnly, ModeAirgapped} }

// StricterMode is the stricter of two modes; "" says nothing.
func StricterMode(a, b string) string { return stricter(a, b, Modes()) }

// LocalMode reports whether a mode allows local models alone.
func LocalMode(mode string) bool { return mode == ModeLocalOnly || mode == ModeAirgapped }

// DefaultAttempts is how often a plain node's attempt is made in all (K6).
const DefaultAttempts = 2

// patient is the policy under [ModeBurst]: twice the limits of time, and twice the attempts of a plain node.
func (p Policy) inBurst() Policy {
	p.Timeout, p.StageTimeout, p.IdleTimeout = 2*p.Timeout, 2*p.StageTimeout, 2*p.IdleTimeout
	p.Retry = (&Retry{Attempts: 2 * attemptsOf(p.Retry)}).withDefaults(p.Retry)
	return p
}

func attemptsOf(r *Retry) int {
	if r == nil || r.Attempts == 0 {
		return DefaultAttempts
	}
	return r.Attempts
}

// Guardrails bound the running time of a run, or of a visit of a node: the time in which a kernel holds the
// session. Those of a node are the node's own, else its stage's.
type Guardrails struct {
	MaxRuntimeSeconds float64 `json:"max_runtime_seconds"` // more than 0
	At                string  `json:"at,omitempty"`        // where that was said, file:line:column
}

// longest is a running time that nobody lives to see and that can be added to any date of ours.
const maxRuntime = 100 * 365 * 24 * time.Hour

// Limit is the longest running time, at most 100 years.
func (g *Guardrails) Limit() time.Duration {
	return time.Duration(math.Min(g.MaxRuntimeSeconds, maxRuntime.Seconds()) * float64(time.Second))
}

// SecretPatterns are the patterns of secrets of all policies in the plan and the plans that it embeds, each once: what
// is a secret in one node is one in all that is written of the session.
func (p *Plan) SecretPatterns() []string {
	var all []string
	add := func(policy *Policy) {
		if policy != nil && policy.Secrets != nil {
			all = append(all, policy.Secrets.Patterns...)
		}
	}
	add(p.Pipeline.Policy)
	for n := range p.All() {
		add(n.Policy)
		for i := range n.Stages {
			add(n.Stages[i].Policy)
		}
		if n.Plan != nil {
			add(n.Plan.Pipeline.Policy)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
