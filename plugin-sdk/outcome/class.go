package outcome

import (
	"strings"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Class is a kind of error, by the remedy that it needs. An unknown class counts as [Failed].
type Class string

// The classes. Each comment names the part that has to change before a retry can succeed.
const (
	Login        Class = "login"         // the user: no valid login or key
	Forbidden    Class = "forbidden"     // the user: this account or key lacks the permission
	Billing      Class = "billing"       // the user: credit, plan or quota is used up
	Setup        Class = "setup"         // the user: a problem on this machine
	RateLimited  Class = "rate_limited"  // time: the service asked for a later retry
	Unavailable  Class = "unavailable"   // time: network or service failed
	ModelUnknown Class = "model_unknown" // the choice of model
	TooLong      Class = "too_long"      // the amount of input
	OutputLimit  Class = "output_limit"  // the amount of output
	Declined     Class = "declined"      // the request: the model or its safeguards declined it
	Refused      Class = "refused"       // the request: the service rejected it
	Config       Class = "config"        // the agent's configuration or the prompt
	TurnLimit    Class = "turn_limit"    // the turn limit, or the task
	CostLimit    Class = "cost_limit"    // the cost limit, or the task
	Interrupted  Class = "interrupted"   // nothing: the agent was stopped from outside
	Denied       Class = "denied"        // the permissions of the agent's tools
	Empty        Class = "empty"         // unknown: the agent wrote nothing and used no tool
	Failed       Class = "failed"        // unknown: the agent reported an error without a class
)

// row is the effect of a class. In hints, {agent} stands for the agent's name.
type row struct {
	outcome   sdk.Outcome
	kind      failure.Kind
	retryable bool
	hint      string
}

var table = map[Class]row{
	Login:        {sdk.OutcomeNeedsPerson, failure.ProviderFailed, false, "log in to {agent} or set a valid key, then resume"},
	Forbidden:    {sdk.OutcomeNeedsPerson, failure.ProviderFailed, false, "let {agent} use an account or key that may do this, then resume"},
	Billing:      {sdk.OutcomeNeedsPerson, failure.ProviderFailed, false, "check the plan and billing of {agent}'s account, then resume"},
	Setup:        {sdk.OutcomeNeedsPerson, failure.ConfigInvalid, false, "start {agent} by hand to see what it needs"},
	RateLimited:  {sdk.OutcomeRateLimited, failure.ProviderFailed, true, "wait until the limit is lifted, then resume"},
	Unavailable:  {sdk.OutcomeInfrastructure, failure.ProviderFailed, true, "check the network and the state of the service, then resume"},
	ModelUnknown: {sdk.OutcomeFailed, failure.ProviderFailed, false, "choose a model that the account may use"},
	TooLong:      {sdk.OutcomeFailed, failure.ProviderFailed, false, "give the agent less to read at once"},
	OutputLimit:  {sdk.OutcomeFailed, failure.ProviderFailed, false, "ask the agent for less at once"},
	Declined:     {sdk.OutcomeFailed, failure.ProviderFailed, false, "reword the prompt, or choose another model"},
	Refused:      {sdk.OutcomeFailed, failure.ProviderFailed, false, "the service does not take this request; see the message"},
	Config:       {sdk.OutcomeFailed, failure.ConfigInvalid, false, "check the configuration of provider {agent}"},
	TurnLimit:    {sdk.OutcomeFailed, failure.ProviderFailed, false, "allow {agent} more turns, or give it less to do"},
	CostLimit:    {sdk.OutcomeFailed, failure.BudgetExceeded, false, "allow {agent} to spend more, or give it less to do"},
	Interrupted:  {sdk.OutcomeInfrastructure, failure.ProviderCrashed, true, "{agent} was stopped from outside; resume to repeat the attempt"},
	Denied:       {sdk.OutcomePermissionDenied, failure.ProviderFailed, false, "allow the tools in the configuration of provider {agent}"},
	Empty:        {sdk.OutcomeEmpty, failure.ProviderFailed, true, "read its stream to see what {agent} did, then resume"},
	Failed:       {sdk.OutcomeFailed, failure.ProviderFailed, true, "read its stream to see what {agent} did, then resume"},
}

// Outcome returns the attempt's outcome for the class.
func (c Class) Outcome() sdk.Outcome { return c.row().outcome }

// MayStateWait reports whether the service may state a time to wait with an error of this class.
func (c Class) MayStateWait() bool { return c == RateLimited || c == Unavailable }

// specific reports whether the class names a cause of the error. Specific classes take
// precedence over the others, whatever their source in the fault.
func (c Class) specific() bool { return c != Failed && c != Refused && c != Unavailable }

func (c Class) row() row {
	if r, ok := table[c]; ok {
		return r
	}
	return table[Failed]
}

// failure returns the class's failure. The hint is the sign's hint, else the agent's hint for the
// class, else the table's hint.
func (a Agent) failure(r Reason, message, detail string) *failure.Error {
	row := r.Class.row()
	hint := row.hint
	for _, better := range []string{a.Hints[r.Class], r.hint} {
		if better != "" {
			hint = better
		}
	}
	f := &failure.Error{
		Kind: row.kind, Message: message, Hint: strings.ReplaceAll(hint, "{agent}", a.Name),
		Retryable: row.retryable, Detail: detail,
	}
	if r.Class.MayStateWait() {
		f.RetryAfterSeconds = r.RetryAfter.Seconds()
	}
	return f
}

// Reason is the classification of a fault.
type Reason struct {
	// Class is [Failed] if nothing is known.
	Class Class
	// RetryAfter is the time to wait, 0 if unknown.
	RetryAfter time.Duration

	hint string
}

// Sign is a class of errors, recognized by parts of the message.
type Sign struct {
	Class Class
	// Texts are the parts, in lower case; one match is enough.
	Texts []string
	// Hint replaces the hint of the class. Optional.
	Hint string
}

// Agent is a provider's knowledge about its agent, beyond the shared rules. The methods do not
// change the Agent and are safe for concurrent use.
type Agent struct {
	// Name is the agent's name in messages ("claude").
	Name string
	// FinalEvent describes the end of a complete stream ("its result event"). Default: "its final
	// message".
	FinalEvent string
	// Codes maps the agent's own error codes, in lower case, to classes. They take precedence over
	// the shared codes.
	Codes map[string]Class
	// Signs are parts of messages that only this agent writes, most reliable first.
	Signs []Sign
	// Hints replace the hints of classes. {agent} stands for Name.
	Hints map[Class]string
}
