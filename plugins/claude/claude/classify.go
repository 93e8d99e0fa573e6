package claude

import "github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"

// classifier maps the errors of Claude Code to classes and hints, in addition to the errors that all agents share.
// Codes and signs come from version 2.1.329; older versions use a subset.
var classifier = outcome.Agent{
	Name:       name,
	FinalEvent: "its result event",
	Codes: map[string]outcome.Class{
		// error of assistant events, api_error of the result
		"oauth_org_not_allowed":  outcome.Login,
		"cloud_credential_error": outcome.Login,
		"account_on_hold":        outcome.Forbidden,
		"verification_required":  outcome.Forbidden,
		// terminal_reason and subtype of the result
		"blocking_limit":       outcome.TooLong,
		"rapid_refill_breaker": outcome.TooLong,
		"aborted_streaming":    outcome.Interrupted,
		"aborted_tools":        outcome.Interrupted,
		"max_turns":            outcome.TurnLimit,
		"error_max_turns":      outcome.TurnLimit,
		"budget_exhausted":     outcome.CostLimit,
		"error_max_budget_usd": outcome.CostLimit,
	},
	Signs: []outcome.Sign{
		{
			Class: outcome.Setup, Texts: []string{"cannot be used with root/sudo privileges"},
			Hint: "Claude Code does not let root skip permissions. Run as another user. Only in a container or a virtual machine, " +
				"set is_sandbox: true in the configuration of provider claude, or IS_SANDBOX=1",
		},
		{
			Class: outcome.Config, Texts: []string{
				"error: unknown option", "error: option '", "requires --verbose", "is already in use", "no conversation found",
			},
			Hint: "check args in the configuration of provider claude, or update Claude Code: " + installCommand,
		},
		{
			Class: outcome.Config, Texts: []string{"input must be provided either through stdin"},
			Hint: "the stage's prompt is empty",
		},
		{Class: outcome.Login, Texts: []string{"please run /login", "run claude and type /login"}},
	},
	Hints: map[outcome.Class]string{
		outcome.Login:        "log in: run claude and type /login, or set ANTHROPIC_API_KEY",
		outcome.Forbidden:    "use an account that may do this: run claude and type /login, or set ANTHROPIC_API_KEY",
		outcome.ModelUnknown: "check the model's name: opus, sonnet, haiku, or the full name of one that the account may use",
		outcome.TurnLimit:    "raise max_turns in the configuration of provider claude, or give it less to do",
		outcome.CostLimit:    "raise policy.cost of the pipeline, or max_budget_usd in the configuration of provider claude; or give it less to do",
		outcome.Denied:       "allow the tools by args (--allowedTools) or a wider permission_mode in the configuration of provider claude",
	},
}
