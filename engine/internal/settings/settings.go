package settings

import (
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// The names of the files.
const (
	FileName    = "config.yaml"         // in the user's configuration directory
	ProjectFile = ".claude/config.yaml" // in the project
)

// Settings are what one file says. The zero value says nothing. It is not changed after it was read and
// safe for concurrent use.
type Settings struct {
	// Defaults are for stages that say nothing themselves.
	Defaults Defaults
	// Commands are in the order of the file.
	Commands []Command
	// Providers are in the order of the file.
	Providers []Provider
	// Background is where sessions run whose start does not say.
	Background   Background
	BackgroundAt Place
	// Notify are in the order of the file.
	Notify []Notification
	// Mode is the weakest mode of every run, "" for none said; ModeAt is where it stands.
	Mode   string
	ModeAt Place
	// Sandbox is the isolation of every plugin process, nil for none said.
	Sandbox   *plan.Sandbox
	SandboxAt Place
}

// Notification is a hook action that tells people how a session stands.
type Notification struct {
	// On are the points that it is called at; nil: the file does not say.
	On []sdk.HookPoint
	// Action is the hook action's name or an alias, as it was written.
	Action string
	// Repeat is the time between reminders while the session waits, Timeout the longest that a call may take. 0: the
	// file does not say.
	Repeat, Timeout time.Duration
	// Config is a JSON object for the action, nil for none: what of the entry is not read here. It may hold secrets:
	// it is neither logged nor journaled.
	Config json.RawMessage
	// At is where the entry begins, Keys are where its keys stand by their names; "config" is the first of the
	// action's own.
	At   Place
	Keys map[string]Place
}

// Defaults are what holds for a stage where the pipeline's files say nothing.
type Defaults struct {
	// Provider is a provider's name or alias, "" for none.
	Provider   string
	ProviderAt Place
	// Delay is the pause between iterations in seconds, nil for none said.
	Delay   *float64
	DelayAt Place
}

// Command is a command that agents find in their context.
type Command struct {
	Name, Text string
	At         Place
}

// Background is where a session runs.
type Background string

// The places that a session can run in.
const (
	BackgroundUnset  Background = ""       // the file says nothing
	BackgroundOff    Background = "off"    // in the terminal that starts it
	BackgroundDetach Background = "detach" // in a process without a terminal
	BackgroundTmux   Background = "tmux"   // in a tmux session
)

// Provider is what is said of one provider.
type Provider struct {
	// Name is the provider's name or an alias, as it was written.
	Name string
	// Model is used where nothing else names one. "": the provider's own default.
	Model string
	// Config is a JSON object for the provider, nil for none. It may hold secrets: it is neither logged
	// nor journaled.
	Config json.RawMessage
	// Sandbox is the isolation of this provider, member by member over that of the file; nil for none said.
	Sandbox *plan.Sandbox
	// At is where the entry begins, ModelAt, ConfigAt and SandboxAt are where its members do.
	At, ModelAt, ConfigAt, SandboxAt Place
}

// Place is where something is said.
type Place struct {
	// File is the file as messages name it, or what said it in a file's place. "" is nowhere.
	File string
	// Pos is zero for what comes from no file.
	Pos yamldoc.Pos
}

// String is the place for messages: "/home/ann/.config/agent-pipelines/config.yaml:3:5".
func (p Place) String() string {
	if p.Pos == (yamldoc.Pos{}) {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Pos.Line, p.Pos.Column)
}

// warnf adds a warning at the place.
func (p Place) warnf(to *yamldoc.Diagnostics, code yamldoc.Code, hint, format string, args ...any) {
	yamldoc.Document{File: p.File, Diagnostics: to}.Warnf(p.Pos, code, hint, format, args...)
}

// errorf adds an error at the place.
func (p Place) errorf(to *yamldoc.Diagnostics, code yamldoc.Code, hint, format string, args ...any) {
	yamldoc.Document{File: p.File, Diagnostics: to}.Errorf(p.Pos, code, hint, format, args...)
}
