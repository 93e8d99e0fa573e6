package settings

import (
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// ConfigTable describes a configuration file, the user's or the project's.
var ConfigTable = dialect.Object{
	Name: "config", Doc: "Settings of a user or of a project: defaults for pipelines.", Strict: true, Unknown: dialect.Refused,
	Fields: []dialect.Field{
		{Name: "background", Doc: "Where a session runs without a flag.", Value: oneOf(dialect.ExactChoice("off", "detach", "tmux"), dialect.Value{Type: dialect.False}), Default: "tmux"},
		{Name: "commands", Doc: "Commands in the context of agents (test, build and so on).", Value: named(&text)},
		{Name: "defaults", Doc: "Defaults of stages.", Value: nested(&defaultsTable)},
		{Name: "mode", Doc: "Where models may be; pipelines and the project can only narrow the user's setting.", Value: modeForms(), Default: "open"},
		{Name: "notify", Doc: "Notifications of sessions that wait for the user or have ended.", Value: list(nested(&NotifyTable))},
		{Name: "providers", Doc: "Settings of providers, by their names.", Value: named(&provider)},
		{Name: "sandbox", Doc: "The isolation of every plugin process.", Value: sandboxForms()},
	},
}

// defaultsTable describes the defaults of stages.
var defaultsTable = dialect.Object{
	Name: "config_defaults", Doc: "Defaults of stages.", Strict: true, Unknown: dialect.Refused,
	Fields: []dialect.Field{
		{Name: "provider", Doc: "The provider of stages without one.", Value: text, Default: "claude"},
		{Name: "delay", Doc: "The pause between iterations of stages without one.", Value: dialect.Stage.Field("delay").Value, Default: "3"},
	},
}

// ProviderTable describes the settings of one provider.
var ProviderTable = dialect.Object{
	Name: "config_provider", Doc: "Settings of one provider.", Strict: true, Unknown: dialect.Refused,
	Fields: []dialect.Field{
		{Name: "model", Doc: "The model of stages and questions that name none.", Value: text, Default: "the provider's own"},
		{Name: "config", Doc: "It is passed to the provider as it is; `plugins info <name>` shows its keys.", Value: dialect.Value{Type: dialect.MapOf, Item: &dialect.Value{}, PassThrough: true}},
		{Name: "sandbox", Doc: "The isolation of this provider; it overrides that of the file, key by key.", Value: sandboxForms()},
	},
}

// NotifyTable describes one notification.
var NotifyTable = dialect.Object{
	Name: "notify", Doc: "A hook action that reports the status of sessions, with the keys of the action.", Strict: true, Unknown: dialect.PassedOn,
	Fields: []dialect.Field{
		{Name: "action", Doc: "The hook action: webhook, script, or one of any plugin.", Value: dialect.Value{Type: dialect.String, Pattern: `(.|\n)*\S(.|\n)*`, About: "text"}, Required: true},
		{Name: "on", Doc: "The statuses that it reports.", Value: oneOf(statuses, statusList()), Default: "waiting, paused, failed and aborted"},
		{Name: "repeat", Doc: "After how many seconds an open question is reported again; 0: never.", Value: oneOf(seconds(0, 0, "0"), duration), Default: "0"},
		{Name: "timeout", Doc: "The maximum duration of a call.", Value: duration, Default: "10"},
	},
}

var (
	text     = dialect.Value{Type: dialect.Text}
	provider = nested(&ProviderTable)
	statuses = dialect.ExactChoice(sdk.SessionWaiting, sdk.SessionPaused, sdk.SessionFailed, sdk.SessionAborted, sdk.SessionCompleted)
	duration = seconds(shortest.Seconds(), longest.Seconds(), "seconds from 1 to 86400")
)

// statusList returns a list of statuses that is not empty.
func statusList() dialect.Value {
	v := list(statuses)
	v.NonEmpty = true
	return v
}

// modeForms returns the modes, which may have blanks around them.
func modeForms() dialect.Value {
	blank := dialect.Value{Type: dialect.String, Pattern: `\s*(` + strings.Join(plan.Modes(), "|") + `)?\s*`, About: dialect.Hidden}
	return oneOf(dialect.ExactChoice(plan.Modes()...), blank)
}

// sandboxForms returns the forms of sandbox, which a policy has too.
func sandboxForms() dialect.Value { return dialect.Policy.Field("sandbox").Value }

// seconds returns a number of seconds within bounds.
func seconds(least, most float64, about string) dialect.Value {
	return dialect.Value{Type: dialect.Number, Least: &least, Most: &most, About: about}
}

// named returns a map with the user's keys, which must not be empty.
func named(item *dialect.Value) dialect.Value {
	return dialect.Value{Type: dialect.MapOf, Item: item, PassThrough: true, NoEmptyKey: true}
}

func oneOf(forms ...dialect.Value) dialect.Value {
	return dialect.Value{Type: dialect.OneOf, Forms: forms}
}

func nested(object *dialect.Object) dialect.Value {
	return dialect.Value{Type: dialect.Nested, Object: object}
}

func list(item dialect.Value) dialect.Value { return dialect.Value{Type: dialect.List, Item: &item} }
