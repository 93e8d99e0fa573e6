package dialect

import (
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Config is a file of settings, the user's or the project's.
var Config = Object{
	Name: "config", Doc: "Settings, of a user or of a project: what holds where a pipeline says nothing.", Strict: true, Other: Refused,
	Keys: []Field{
		{Name: "background", Doc: "Where a session runs when the line does not say.", Holds: either(exactly("off", "detach", "tmux"), Value{Type: False}), Default: "tmux"},
		{Name: "commands", Doc: "Commands that agents find in their context (test, build and so on).", Holds: Value{Type: Named, Item: &blankText, PassThrough: true, NoBlank: true}},
		{Name: "defaults", Doc: "What holds for stages that say nothing.", Holds: in(&ConfigDefaults)},
		{Name: "mode", Doc: "Where models may be; pipelines and the project can only narrow the user's word.", Holds: modes(), Default: "open"},
		{Name: "notify", Doc: "Who is told that a session waits for a person or has ended.", Holds: listOf(in(&Notify))},
		{Name: "providers", Doc: "Settings of providers, by their names.", Holds: Value{Type: Named, Item: &configProvider, PassThrough: true, NoBlank: true}},
		{Name: "sandbox", Doc: "The isolation of every plugin process.", Holds: sandbox()},
	},
}

var (
	blankText      = text()
	configProvider = in(&ConfigProvider)
)

// modes may have blanks around them.
func modes() Value {
	blank := Value{Type: String, Pattern: `\s*(` + strings.Join(plan.Modes(), "|") + `)?\s*`, About: hidden}
	return either(exactly(plan.Modes()...), blank)
}

// ConfigDefaults are what holds for stages that say nothing.
var ConfigDefaults = Object{
	Name: "config_defaults", Doc: "What holds for stages that say nothing.", Strict: true, Other: Refused,
	Keys: []Field{
		{Name: "provider", Doc: "The provider of stages for which nothing nearer names one.", Holds: text(), Default: "claude"},
		{Name: "delay", Doc: "The pause between iterations of stages that do not say one.", Holds: pause(), Default: "3"},
	},
}

// ConfigProvider are the settings of one provider.
var ConfigProvider = Object{
	Name: "config_provider", Doc: "Settings of one provider.", Strict: true, Other: Refused,
	Keys: []Field{
		{Name: "model", Doc: "The model of stages and questions that name none.", Holds: text(), Default: "the provider's own"},
		{Name: "config", Doc: "It is handed to the provider as it is; `plugins info <name>` shows its keys.", Holds: namesOf(anything())},
		{Name: "sandbox", Doc: "The isolation of this provider, member by member over that of the file.", Holds: sandbox()},
	},
}

// Bounds of durations, in seconds.
const (
	second = 1
	day    = 24 * 60 * 60
)

// Notify is one who is told.
var Notify = Object{
	Name: "notify", Doc: "A hook action that tells people how sessions stand. Its own keys stand beside these.", Strict: true, Other: Handed,
	Keys: []Field{
		{Name: "action", Doc: "The hook action: webhook, script, or one of any plugin.", Holds: Value{Type: String, Pattern: `(.|\n)*\S(.|\n)*`, About: "text"}, Required: true},
		{Name: "on", Doc: "What it is told.", Holds: either(moments(), filled(listOf(moments()))), Default: "waiting, paused, failed and aborted"},
		{Name: "repeat", Doc: "How long after it was told of a question it is told again; 0: never.", Holds: either(just(0), duration()), Default: "0"},
		{Name: "timeout", Doc: "The longest that a call may take.", Holds: duration(), Default: "10"},
	},
}

func moments() Value {
	return exactly(sdk.SessionWaiting, sdk.SessionPaused, sdk.SessionFailed, sdk.SessionAborted, sdk.SessionCompleted)
}

func duration() Value {
	return Value{Type: Number, Least: bound(second), Most: bound(day), About: "seconds from 1 to 86400"}
}

func just(n float64) Value {
	return Value{Type: Number, Least: &n, Most: &n, About: "0"}
}
