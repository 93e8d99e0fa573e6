package dialect

import (
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Config is a configuration file, the user's or the project's.
var Config = Object{
	Name: "config", Doc: "Settings of a user or of a project: defaults for pipelines.", Strict: true, Unknown: Refused,
	Fields: []Field{
		{Name: "background", Doc: "Where a session runs without a flag.", Value: oneOf(exactChoice("off", "detach", "tmux"), Value{Type: False}), Default: "tmux"},
		{Name: "commands", Doc: "Commands in the context of agents (test, build and so on).", Value: Value{Type: MapOf, Item: &blankText, PassThrough: true, NoEmptyKey: true}},
		{Name: "defaults", Doc: "Defaults of stages.", Value: nested(&ConfigDefaults)},
		{Name: "mode", Doc: "Where models may be; pipelines and the project can only narrow the user's setting.", Value: modeForms(), Default: "open"},
		{Name: "notify", Doc: "Notifications of sessions that wait for the user or have ended.", Value: list(nested(&Notify))},
		{Name: "providers", Doc: "Settings of providers, by their names.", Value: Value{Type: MapOf, Item: &configProvider, PassThrough: true, NoEmptyKey: true}},
		{Name: "sandbox", Doc: "The isolation of every plugin process.", Value: sandboxForms()},
	},
}

var (
	blankText      = text()
	configProvider = nested(&ConfigProvider)
)

// modeForms returns the modes, which may have blanks around them.
func modeForms() Value {
	blank := Value{Type: String, Pattern: `\s*(` + strings.Join(plan.Modes(), "|") + `)?\s*`, About: Hidden}
	return oneOf(exactChoice(plan.Modes()...), blank)
}

// ConfigDefaults are the defaults of stages.
var ConfigDefaults = Object{
	Name: "config_defaults", Doc: "Defaults of stages.", Strict: true, Unknown: Refused,
	Fields: []Field{
		{Name: "provider", Doc: "The provider of stages without one.", Value: text(), Default: "claude"},
		{Name: "delay", Doc: "The pause between iterations of stages without one.", Value: pause(), Default: "3"},
	},
}

// ConfigProvider are the settings of one provider.
var ConfigProvider = Object{
	Name: "config_provider", Doc: "Settings of one provider.", Strict: true, Unknown: Refused,
	Fields: []Field{
		{Name: "model", Doc: "The model of stages and questions that name none.", Value: text(), Default: "the provider's own"},
		{Name: "config", Doc: "It is passed to the provider as it is; `plugins info <name>` shows its keys.", Value: anyKeys(anything())},
		{Name: "sandbox", Doc: "The isolation of this provider; it overrides that of the file, key by key.", Value: sandboxForms()},
	},
}

// These are the bounds of durations, in seconds.
const (
	second = 1
	day    = 24 * 60 * 60
)

// Notify is one notification.
var Notify = Object{
	Name: "notify", Doc: "A hook action that reports the status of sessions, with the keys of the action.", Strict: true, Unknown: PassedOn,
	Fields: []Field{
		{Name: "action", Doc: "The hook action: webhook, script, or one of any plugin.", Value: Value{Type: String, Pattern: `(.|\n)*\S(.|\n)*`, About: "text"}, Required: true},
		{Name: "on", Doc: "The statuses that it reports.", Value: oneOf(momentChoice(), nonEmpty(list(momentChoice()))), Default: "waiting, paused, failed and aborted"},
		{Name: "repeat", Doc: "After how many seconds an open question is reported again; 0: never.", Value: oneOf(exactNumber(0), duration()), Default: "0"},
		{Name: "timeout", Doc: "The maximum duration of a call.", Value: duration(), Default: "10"},
	},
}

func momentChoice() Value {
	return exactChoice(sdk.SessionWaiting, sdk.SessionPaused, sdk.SessionFailed, sdk.SessionAborted, sdk.SessionCompleted)
}

func duration() Value {
	return Value{Type: Number, Least: bound(second), Most: bound(day), About: "seconds from 1 to 86400"}
}

func exactNumber(n float64) Value {
	return Value{Type: Number, Least: &n, Most: &n, About: "0"}
}
