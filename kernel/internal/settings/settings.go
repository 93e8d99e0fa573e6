package settings

import (
	"encoding/json"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/yamltree"
)

// FileName is the file's name in the user's configuration directory.
const FileName = "config.yaml"

// Settings are what the user says in one place. The zero value says nothing. It is not changed after
// it was read and safe for concurrent use.
type Settings struct {
	// Providers are in the order of the file.
	Providers []Provider
	// Background is where sessions run whose start does not say.
	Background Background
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

// Provider is what the user says of one provider.
type Provider struct {
	// Name is the provider's name or an alias, as the user wrote it.
	Name string
	// Model is used where nothing else names one. "": the provider's own default.
	Model string
	// Config is a JSON object for the provider, nil for none. It may hold secrets: it is neither logged
	// nor journaled.
	Config json.RawMessage
	// File is the file as messages name it, or what said this in its place. At is where the entry
	// begins, ConfigAt its config; both are zero for what comes from no file.
	File         string
	At, ConfigAt yamltree.Pos
}

// Origin is where the config stands, for messages: "/home/ann/.config/agent-pipelines/config.yaml:3:5".
func (p Provider) Origin() string {
	if p.ConfigAt == (yamltree.Pos{}) {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.ConfigAt.Line, p.ConfigAt.Column)
}

// warnf adds a warning at the entry.
func (p Provider) warnf(to *diagnostic.List, code diagnostic.Code, hint, format string, args ...any) {
	diagnostic.Document{File: p.File, List: to}.Warnf(p.At, code, hint, format, args...)
}

// errorf adds an error at the entry.
func (p Provider) errorf(to *diagnostic.List, code diagnostic.Code, hint, format string, args ...any) {
	diagnostic.Document{File: p.File, List: to}.Errorf(p.At, code, hint, format, args...)
}
