package settings

import (
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// ConfigTable describes a configuration file, the user's or the project's.
var ConfigTable = dialect.Object{
	Name: "config", Doc: "Settings of a user or of a project: defaults for pipelines.", Unknown: dialect.Refused,
	Fields: []dialect.Field{
		{Name: "background", Doc: "Where a session runs without a flag.", Value: dialect.ExactChoice(BackgroundOff, BackgroundDetach, BackgroundTmux), Default: "tmux"},
		{Name: "commands", Doc: "Commands in the context of agents (test, build and so on).", Value: dialect.MapTo(dialect.AnyText())},
		{Name: "defaults", Doc: "Defaults of stages.", Value: dialect.NestedObject(&defaultsTable)},
		{Name: "mode", Doc: "Where models may be; pipelines and the project can only narrow the user's setting.", Value: dialect.Policy.Field("mode").Value, Default: "open"},
		{Name: "notify", Doc: "Notifications of sessions that wait for the user or have ended.", Value: dialect.Sequence(dialect.NestedObject(&notifyTable))},
		{Name: "providers", Doc: "Settings of providers, by their names.", Value: dialect.MapTo(dialect.NestedObject(&providerTable))},
		{Name: "sandbox", Doc: "The isolation of every plugin process.", Value: dialect.Policy.Field("sandbox").Value},
	},
}

// defaultsTable describes the defaults of stages.
var defaultsTable = dialect.Object{
	Name: "config_defaults", Doc: "Defaults of stages.", Unknown: dialect.Refused,
	Fields: []dialect.Field{
		{Name: "provider", Doc: "The provider of stages without one.", Value: dialect.AnyText(), Default: "claude"},
		{Name: "delay", Doc: "The pause between iterations of stages that set no delay.", Value: dialect.Stage.Field("delay").Value, Default: "3"},
	},
}

// providerTable describes the settings of one provider.
var providerTable = dialect.Object{
	Name: "config_provider", Doc: "Settings of one provider.", Unknown: dialect.Refused,
	Fields: []dialect.Field{
		{Name: "model", Doc: "The model of stages and questions that name none.", Value: dialect.AnyText(), Default: "the provider's own"},
		{Name: "config", Doc: "It is passed to the provider as it is; `plugins info <name>` shows its keys.", Value: dialect.MapTo(dialect.Value{})},
		{Name: "env", Doc: "Names of secret variables that the provider gets in addition to its own.", Value: variables},
		{Name: "sandbox", Doc: "The isolation of this provider; it overrides that of the file, key by key.", Value: dialect.Policy.Field("sandbox").Value},
	},
}

// variables describes a list of names of environment variables.
var variables = dialect.Sequence(dialect.Value{Type: dialect.String, Pattern: `[A-Za-z_][A-Za-z0-9_]*`, Mismatch: "is not the name of a variable", About: "name"})

// notifyTable describes one notification.
var notifyTable = dialect.Object{
	Name: "notify", Doc: "A hook action that reports the status of sessions, with the keys of the action.", Unknown: dialect.PassedOn,
	Fields: []dialect.Field{
		{Name: "action", Doc: "The hook action: webhook, script, or one of any plugin.", Value: dialect.AnyText(), Required: true, Hint: "add action:, such as webhook or script"},
		{Name: "on", Doc: "The statuses that it reports.", Value: dialect.AnyOf(statuses, dialect.Value{Type: dialect.List, Item: &statuses, NonEmpty: true}), Default: "waiting, paused, failed and aborted"},
		{Name: "timeout", Doc: "The maximum duration of a call.", Value: seconds(1), Default: "10"},
	},
}

var statuses = dialect.ExactChoice(sdk.SessionWaiting, sdk.SessionPaused, sdk.SessionFailed, sdk.SessionAborted, sdk.SessionCompleted)

// seconds returns a number of seconds of at most a day.
func seconds(least float64) dialect.Value {
	most := 86_400.0
	return dialect.Value{Type: dialect.Number, Least: &least, Most: &most}
}
