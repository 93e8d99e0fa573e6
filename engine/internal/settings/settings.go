package settings

import (
	"encoding/json"
	"strconv"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// These constants are the names of the files.
const (
	FileName    = "config.yaml"         // in the user's configuration directory
	ProjectFile = ".claude/config.yaml" // in the project
)

// Settings are the settings of one file, none in the zero value. They are immutable and safe for concurrent use.
type Settings struct {
	// Defaults are for stages without settings of their own.
	Defaults Defaults
	// Commands are the commands that agents find in their context, by name; nil for none.
	Commands map[string]string
	// Providers are in the order of the file.
	Providers []Provider
	// Background is the place in which sessions run without a flag.
	Background Background
	// Notify are in the order of the file.
	Notify []Notification
	// Mode is the weakest mode of every run, "" if unset.
	Mode string
	// Sandbox is the isolation of every plugin process, nil if unset.
	Sandbox *plan.Sandbox

	file string
	root *yamldoc.Node
}

// At returns the place of a setting, the zero Place for an absent setting. path has the keys of maps and the indices of
// lists that lead to the setting.
func (s Settings) At(path ...string) Place {
	n, at := s.root, Place{}
	for _, key := range path {
		if n == nil {
			return Place{}
		}
		at = Place{}
		if i, err := strconv.Atoi(key); err == nil && 0 <= i && i < len(n.Items) {
			n, at = n.Items[i], Place{s.file, n.Items[i].Pos}
			continue
		}
		if pos := (dialect.Map{Node: n}).KeyPos(key); pos != (yamldoc.Pos{}) {
			at = Place{s.file, pos}
		}
		n = n.Get(key)
	}
	return at
}

// Notification is a hook action that reports the status of sessions to users.
type Notification struct {
	// On are the points at which the action is called, nil if unset.
	On []sdk.HookPoint
	// Action is the hook action's name or an alias, as written.
	Action string
	// Timeout is the time limit of a call, 0 for unset.
	Timeout time.Duration
	// Config is a JSON object of the action's own keys, nil for none. It may hold secrets: it is neither logged nor
	// journaled.
	Config json.RawMessage
	// At is the beginning of the entry, ConfigAt the beginning of the first of the action's own keys.
	At, ConfigAt Place
}

// Defaults are the settings of a stage that apply if the pipeline's files leave them unset.
type Defaults struct {
	// Provider is a provider's name or alias, "" for none.
	Provider string
	// Delay is the pause between iterations in seconds, nil if unset.
	Delay *float64
}

// Background is a place in which a session runs.
type Background string

// The constants of type Background are the places in which a session can run.
const (
	BackgroundUnset  Background = ""       // unset
	BackgroundOff    Background = "off"    // in the terminal that starts it
	BackgroundDetach Background = "detach" // in a process without a terminal
	BackgroundTmux   Background = "tmux"   // in a tmux session
)

// Provider has the settings of one provider.
type Provider struct {
	// Name is the provider's name or an alias, as written.
	Name string
	// Model is the model of stages that name no model. "": the provider's own default.
	Model string
	// Config is a JSON object for the provider, nil for none. It may hold secrets: it is neither logged
	// nor journaled.
	Config json.RawMessage
	// Env lists the variables that the provider gets in addition to its own.
	Env []string
	// Sandbox is the isolation of this provider, nil if unset. Each member overrides that of [Settings].
	Sandbox *plan.Sandbox
	// At is the beginning of the entry, ConfigAt the beginning of its key config.
	At, ConfigAt Place
}

// Place is the place of a setting.
type Place struct {
	// File is the name of the file in messages, or of another source. "" for no place.
	File string
	// Pos is zero for a source that is not a file.
	Pos yamldoc.Pos
}

// in returns the location of the place, which reports faults to a list.
func (p Place) in(to *yamldoc.Diagnostics) dialect.Location {
	return dialect.Location{Document: yamldoc.Document{File: p.File, Diagnostics: to}, Pos: p.Pos}
}

// String returns the place for messages: "/home/ann/.config/agent-pipelines/config.yaml:3:5".
func (p Place) String() string { return p.in(nil).String() }
