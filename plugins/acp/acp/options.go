package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	protocol "github.com/coder/acp-go-sdk"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// session is the agent's session before its first prompt.
type session struct {
	sessionInfo
	ask   func(method string, params, result any) error
	title string // of the agent
}

// noServers is empty: the agent gets no MCP servers from the provider, and uses the servers of its own configuration.
var noServers = []protocol.McpServer{}

func (s *session) create(dir string) error {
	if err := s.ask(protocol.AgentMethodSessionNew, protocol.NewSessionRequest{Cwd: dir, McpServers: noServers}, &s.sessionInfo); err != nil {
		return err
	}
	if s.ID == "" {
		return fmt.Errorf("%s began a session without an id", s.title)
	}
	return nil
}

// resume continues a session, and reports whether the agent agreed. A refusal of the agent is not an error.
func (s *session) resume(id protocol.SessionId, dir string, can capabilities) (bool, error) {
	var err error
	switch {
	case can.Sessions.Resume != nil:
		err = s.ask(protocol.AgentMethodSessionResume, protocol.ResumeSessionRequest{SessionId: id, Cwd: dir, McpServers: noServers}, &s.sessionInfo)
	case can.Load:
		err = s.ask(protocol.AgentMethodSessionLoad, protocol.LoadSessionRequest{SessionId: id, Cwd: dir, McpServers: noServers}, &s.sessionInfo)
	default:
		return false, nil
	}
	if no := (*protocol.RequestError)(nil); errors.As(err, &no) {
		return false, nil
	}
	s.ID = id
	return err == nil, err
}

// configure sets the model, the mode and the other settings.
func (s *session) configure(want setup, model string) error {
	if model != "" && want.modelFlag == "" {
		if err := s.setModel(model); err != nil {
			return err
		}
	}
	if want.Mode != "" {
		if err := s.setMode(want.Mode); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(want.ConfigOptions)) {
		if err := s.setOption(id, want.ConfigOptions[id]); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) setModel(model string) error {
	if o := s.findOption("model"); o != nil {
		return s.setOption(o.ID, model)
	}
	return failure.New(failure.ConfigInvalid, "%s offers no choice of a model", s.title).
		WithHint("name no model in the pipeline, and choose the model in the agent's own configuration or with the arguments of key command")
}

func (s *session) setMode(mode string) error {
	if o := s.findOption("mode"); o != nil {
		return s.setOption(o.ID, mode)
	}
	if s.Modes == nil {
		return failure.New(failure.ConfigInvalid, "%s offers no modes", s.title).WithHint("leave mode out of its configuration")
	}
	var known []string
	for _, m := range s.Modes.Available {
		known = append(known, m.ID)
	}
	if s.Modes.Current == mode {
		return nil
	}
	err := s.ask(protocol.AgentMethodSessionSetMode, protocol.SetSessionModeRequest{SessionId: s.ID, ModeId: protocol.SessionModeId(mode)}, nil)
	return s.settingError(err, "mode", mode, known)
}

// setOption sets a text or a switch, unless it has the value already.
func (s *session) setOption(id string, value any) error {
	var known []string
	for _, o := range s.Options {
		if o.ID == id {
			if want, err := json.Marshal(value); err == nil && string(want) == string(o.Current) {
				return nil
			}
			known = optionValues(o.Values)
		}
	}
	var r struct {
		Options []option `json:"configOptions"`
	}
	err := s.ask(protocol.AgentMethodSessionSetConfigOption, s.setting(id, value), &r)
	if err == nil && len(r.Options) > 0 {
		s.Options = r.Options
	}
	return s.settingError(err, id, fmt.Sprint(value), known)
}

func (s *session) setting(id string, value any) protocol.SetSessionConfigOptionRequest {
	configID := protocol.SessionConfigId(id)
	if on, ok := value.(bool); ok {
		return protocol.SetSessionConfigOptionRequest{Boolean: &protocol.SetSessionConfigOptionBoolean{SessionId: s.ID, ConfigId: configID, Type: "boolean", Value: on}}
	}
	return protocol.SetSessionConfigOptionRequest{ValueId: &protocol.SetSessionConfigOptionValueId{
		SessionId: s.ID, ConfigId: configID, Value: protocol.SessionConfigValueId(fmt.Sprint(value)),
	}}
}

// settingError returns the error for a refused setting.
func (s *session) settingError(err error, setting, value string, known []string) error {
	var no *protocol.RequestError
	if !errors.As(err, &no) {
		return err
	}
	f := failure.New(failure.ConfigInvalid, "%s does not take %s %q: %s", s.title, setting, value, parseFault(no).Message)
	if len(known) > 0 {
		return f.WithHint("it offers %s", strings.Join(known, ", "))
	}
	return f.WithHint("see the agent's documentation for the choices")
}

// findOption returns the setting of a category. Agents without categories use the category's name as the id.
func (s *session) findOption(category string) *option {
	for i, o := range s.Options {
		if o.Category == category || o.ID == category {
			return &s.Options[i]
		}
	}
	return nil
}

// model returns the current model, "" if the agent does not report it.
func (s *session) model() string {
	var current string
	if o := s.findOption("model"); o != nil && cliagent.DecodeEvent(o.Current, &current) {
		return current
	}
	return ""
}

// optionValues returns the possible values of a setting.
func optionValues(list []optionValue) []string {
	var names []string
	for _, c := range list {
		if len(c.Group) > 0 {
			names = append(names, optionValues(c.Group)...)
		} else {
			names = append(names, c.Value)
		}
	}
	return names
}
