package outcome

import (
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Class is a kind of trouble: what happened in the terms of those who have to do something about it.
// An unknown class counts as [Failed].
type Class string

// The classes. The comment says who or what has to change before it can go well.
const (
	Login        Class = "login"         // a person: no valid login or key
	Forbidden    Class = "forbidden"     // a person: this account or key may not do that
	Billing      Class = "billing"       // a person: credit, plan or quota is used up
	Setup        Class = "setup"         // a person: something on this machine stands in the way
	RateLimited  Class = "rate_limited"  // time: the service asks to come back later
	Unavailable  Class = "unavailable"   // time: network or service failed
	ModelUnknown Class = "model_unknown" // the choice of model
	TooLong      Class = "too_long"      // the amount of input
	OutputLimit  Class = "output_limit"  // the amount of output
	Declined     Class = "declined"      // the request: the model or its guard does not want to
	Refused      Class = "refused"       // the request: the service does not take it
	Config       Class = "config"        // the agent's configuration or the prompt
	TurnLimit    Class = "turn_limit"    // the limit of turns, or the task
	CostLimit    Class = "cost_limit"    // the limit of cost, or the task
	Interrupted  Class = "interrupted"   // nothing of ours: somebody stopped the agent
	Denied       Class = "denied"        // the permissions of the agent's tools
	Empty        Class = "empty"         // nobody knows: the agent said and did nothing
	Failed       Class = "failed"        // nobody knows: the agent tells of an error that has no class
)

// row is what follows from a class. In hints {agent} stands for the agent's name.
type row struct {
	outcome   sdk.Outcome
	kind      failure.Kind
	retryable bool
	hint      string
}

var table = map[Class]row{
	Login:        {sdk.OutcomeNeedsPerson, failure.ProviderFailed, false, "log {agent} in or give it a valid key, then resume"},
	Forbidden:    {sdk.OutcomeNeedsPerson, failure.ProviderFailed, false, "let {agent} use an account or key that may do this, then resume"},
	Billing:      {sdk.OutcomeNeedsPerson, failure.ProviderFailed, false, "see to the plan and billing of the account that {agent} uses, then resume"},
	Setup:        {sdk.OutcomeNeedsPerson, failure.ConfigInvalid, false, "start {agent} by hand to see what it needs"},
	RateLimited:  {sdk.OutcomeRateLimited, failure.ProviderFailed, true, "wait until the limit is lifted, then resume"},
	Unavailable:  {sdk.OutcomeInfrastructure, failure.ProviderFailed, true, "check the network and the state of the service, then resume"},
	ModelUnknown: {sdk.OutcomeFailed, failure.ProviderFailed, false, "choose a model that the account may use"},
	TooLong:      {sdk.OutcomeFailed, failure.ProviderFailed, false, "give the agent less to read at once"},
	OutputLimit:  {sdk.OutcomeFailed, failure.ProviderFailed, false, "ask the agent for less at once"},
	Declined:     {sdk.OutcomeFailed, failure.ProviderFailed, false, "say it differently, or choose another model"},
	Refused:      {sdk.OutcomeFailed, failure.ProviderFailed, false, "the service does not take this request; see the message"},
	Config:       {sdk.OutcomeFailed, failure.ConfigInvalid, false, "check the configuration of provider {agent}"},
	TurnLimit:    {sdk.OutcomeFailed, failure.ProviderFailed, false, "allow {agent} more turns, or give it less to do"},
	CostLimit:    {sdk.OutcomeFailed, failure.BudgetExceeded, false, "allow {agent} to spend more, or give it less to do"},
	Interrupted:  {sdk.OutcomeInfrastructure, failure.ProviderCrashed, true, "somebody or something stopped {agent}; resume makes the attempt again"},
	Denied:       {sdk.OutcomePermissionDenied, failure.ProviderFailed, false, "allow the tools in the configuration of provider {agent}"},
	Empty:        {sdk.OutcomeEmpty, failure.ProviderFailed, true, "see in its stream what {agent} did, then resume"},
	Failed:       {sdk.OutcomeFailed, failure.ProviderFailed, true, "see in its stream what {agent} did, then resume"},
}

// Outcome is what the class means for the attempt.
func (c Class) Outcome() sdk.Outcome { return c.row().outcome }

// Waits reports whether the service may say how long to wait.
func (c Class) Waits() bool { return c == RateLimited || c == Unavailable }

// specific reports whether the class says more than that something went wrong. What is specific
// counts first, wherever it was found.
func (c Class) specific() bool { return c != Failed && c != Refused && c != Unavailable }

func (c Class) row() row {
	if r, ok := table[c]; ok {
		return r
	}
	return table[Failed]
}

// failure is the class's failure. The hint is the sign's own, the agent's for the class, or the table's.
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
	if r.Class.Waits() {
		f.RetryAfterSeconds = r.RetryAfter.Seconds()
	}
	return f
}
