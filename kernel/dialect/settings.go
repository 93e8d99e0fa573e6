package dialect

import (
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Config is a file of settings, the user's or the project's.
var Config = Object{
	Name: "config", Doc: "Settings, of a user or of a project: what holds where a pipeline says nothing.", Strict: true, Unknown: Refused,
	Keys: []Field{
		{Name: "background", Doc: "Where a session runs when the line does not say.", Value: formsOf(exactChoice("off", "detach", "tmux"), Value{Type: False}), Default: "tmux"},
		{Name: "commands", Doc: "Commands that agents find in their context (test, build and so on).", Value: Value{Type: MapOf, Item: &blankText, PassThrough: true, NoEmptyKey: true}},
		{Name: "defaults", Doc: "What holds for stages that say nothing.", Value: nested(&ConfigDefaults)},
		{Name: "mode", Doc: "Where models may be; pipelines and the project can only narrow the user's word.", Value: modeForms(), Default: "open"},
		{Name: "notify", Doc: "Who is told that a session waits for a person or has ended.", Value: listOf(nested(&Notify))},
		{Name: "providers", Doc: "Settings of providers, by their names.", Value: Value{Type: MapOf, Item: &configProvider, PassThrough: true, NoEmptyKey: true}},
		{Name: "sandbox", Doc: "The isolation of every plugin process.", Value: sandboxForms()},
	},
}

var (
	blankText      = text()
	configProvider = nested(&ConfigProvider)
)

// modeForms may have blanks around them.
func modeForms() Value {
	blank := Value{Type: String, Pattern: `\s*(` + strings.Join(plan.Modes(), "|") + `)?\s*`, About: hidden}
	return formsOf(exactChoice(plan.Modes()...), blank)
}

// ConfigDefaults are what holds for stages that say nothing.
var ConfigDefaults = Object{
	Name: "config_defaults", Doc: "What holds for stages that say nothing.", Strict: true, Unknown: Refused,
	Keys: []Field{
		{Name: "provider", Doc: "The provider of stages for which nothing nearer names one.", Value: text(), Default: "claude"},
		{Name: "delay", Doc: "The pause between iterations of stages that do not say one.", Value: pause(), Default: "3"},
	},
}

// ConfigProvider are the settings of one provider.
var ConfigProvider = Object{
	Name: "config_provider", Doc: "Settings of one provider.", Strict: true, Unknown: Refused,
	Keys: []Field{
		{Name: "model", Doc: "The model of stages and questions that name none.", Value: text(), Default: "the provider's own"},
		{Name: "config", Doc: "It is handed to the provider as it is; `plugins info <name>` shows its keys.", Value: mapOf(anything())},
		{Name: "sandbox", Doc: "The isolation of this provider, member by member over that of the file.", Value: sandboxForms()},
	},
}

// Bounds of durations, in seconds.
const (
	second = 1
	day    = 24 * 60 * 60
)

// Notify is one who is told.
var Notify = Object{
	Name: "notify", Doc: "A hook action that tells people how sessions stand. Its own keys stand beside these.", Strict: true, Unknown: PassedOn,
	Keys: []Field{
		{Name: "action", Doc: "The hook action: webhook, script, or one of any plugin.", Value: Value{Type: String, Pattern: `(.|\n)*\S(.|\n)*`, About: "text"}, Required: true},
		{Name: "on", Doc: "What it is told.", Value: formsOf(momentChoice(), nonEmpty(listOf(momentChoice()))), Default: "waiting, paused, failed and aborted"},
		{Name: "repeat", Doc: "How long after it was told of a question it is told again; 0: never.", Value: formsOf(exactNumber(0), duration()), Default: "0"},
		{Name: "timeout", Doc: "The longest that a call may take.", Value: duration(), Default: "10"},
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
