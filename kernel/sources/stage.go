package sources

import (
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

var unusedStageKeys = []string{"output_parse", "items"}

// Settings are the keys that a node and a stage.yaml share. The node's win.
type Settings struct {
	dialect.Map
	Description string
	Provider    string
	ProviderAt  dialect.Location
	Model       string
	Context     string
	OutputPath  string
	Delay       *float64
	Termination Termination
	Guardrails  *plan.Guardrails
	Approval    Approval
}

// Stage is one stage.yaml.
type Stage struct {
	Settings
	Dir          StageDir
	Name         string // the key name; default: the name of the directory
	Prompt       string // as written; may be empty
	PromptAt     dialect.Location
	Commands     map[string]string
	Role         string
	Artifact     Artifact
	Requirements Requirements
	Wraps        Wraps
	CheckBefore  bool
	NoTmux       bool
	Data         []byte

	PromptPath string // of the plan; set by the first node that needs it
}

// ReadSettings reads the shared keys.
func ReadSettings(m dialect.Map) Settings {
	s := Settings{Map: m}
	s.Description, _ = m.Text("description")
	provider, at := m.Text("provider")
	s.Provider, s.ProviderAt = provider, m.Location(at)
	s.Model, _ = m.Text("model")
	s.Context, _ = m.Text("context")
	s.OutputPath, _ = m.Text("output_path")
	if seconds, at := m.AtLeast(0, "delay"); at.Node != nil {
		s.Delay = &seconds
	}
	s.Termination = readTermination(m)
	s.Guardrails = ReadGuardrails(m)
	s.Approval = ReadApproval(m)
	return s
}

// NewStage reads the content of a stage.yaml.
func NewStage(dir StageDir, m dialect.Map, data []byte) *Stage {
	m.CheckKeys(&dialect.Stage)
	m.WarnUnused(unusedStageKeys...)
	s := &Stage{Settings: ReadSettings(m), Dir: dir, Data: data, NoTmux: DeniesTmuxIn(m), Commands: m.Texts("commands")}
	if s.Name, _ = m.Text("name"); s.Name == "" {
		s.Name = dir.Name
	}
	prompt, at := m.Text("prompt")
	s.Prompt, s.PromptAt = prompt, m.Location(at)
	s.CheckBefore = m.Boolean("check_before")
	s.Requirements = ReadRequirements(m, data)
	if s.Wraps = ReadWraps(m); s.Wraps.Run != "" {
		s.Wraps.Dir = dir
	}
	s.Role, _ = m.Text("role")
	if fault := NameFault(s.Role); s.Role != "" && fault != "" {
		m.Errorf(m.Get("role").Pos, yamldoc.CodeIdentifier, "write a word, such as planner", "role %q %s", s.Role, fault)
	}
	return s
}

// DeniesTmuxIn reports whether tmux: false is anywhere in m.
func DeniesTmuxIn(m dialect.Map) bool { return deniesTmux(m.Node) }

func deniesTmux(n *yamldoc.Node) bool {
	if v := n.Get("tmux"); v != nil && v.Any() == false {
		return true
	}
	return slices.ContainsFunc(n.Items, deniesTmux) ||
		slices.ContainsFunc(n.Entries, func(e yamldoc.Entry) bool { return deniesTmux(e.Value) })
}

// Approval is the key require_human_approval of a node or a stage.
type Approval struct {
	IsSet, Required bool
	At              dialect.Location
}

// ReadApproval reads require_human_approval.
func ReadApproval(m dialect.Map) Approval {
	at := m.Get("require_human_approval")
	return Approval{IsSet: at.Node != nil, Required: m.Boolean("require_human_approval"), At: m.Location(at)}
}

// WithDefault returns a if it is set, else b.
func (a Approval) WithDefault(b Approval) Approval {
	if a.IsSet {
		return a
	}
	return b
}

// ReadDefaults reads the key defaults of a pipeline.
func ReadDefaults(m dialect.Map) Settings {
	inner, ok := m.MapAt("defaults")
	if !ok {
		return Settings{}
	}
	inner.CheckKeys(&dialect.Defaults)
	s := Settings{Map: inner}
	provider, at := inner.Text("provider")
	s.Provider, s.ProviderAt = provider, inner.Location(at)
	s.Model, _ = inner.Text("model")
	return s
}

// RefuseApproval reports a stage of a block with an approval: the block asks the user.
func (a Node) RefuseApproval(own, stage Approval) {
	switch {
	case own.Required:
		a.Refuse("require_human_approval", "write it on the block", "the user is asked after the block")
	case own.WithDefault(stage).Required:
		a.Errorf(a.Location(a.Get("stage", "loop")).Pos, yamldoc.CodeConflict, "write require_human_approval: true on the block and false here",
			"the stage of %s needs the user's approval, but nobody is asked inside a block", a.Label)
	}
}

// CheckWraps reports keys that are not allowed or without effect in a stage.yaml with wraps.
func (s *Stage) CheckWraps() {
	w := s.Wraps
	if !w.IsSet() {
		return
	}
	s.RefuseKeys([]string{"prompt"}, "remove one of the two", "the wrapped target is its work")
	s.RefuseKeys(slices.Concat(iterationKeys, []string{"runs"}), "let an edge of a pipeline lead back to it, or repeat inside of the wrapped target", "the wrapped target runs once")
	s.WarnIgnored(ignoredOnWraps, "a stage that wraps something", "remove it")
	checkWrapsArtifact(s.Map, w, "a stage that wraps something")
	if w.Pipeline == "" && w.Run == "" {
		w.Errorf(w.Node.Pos, yamldoc.CodeMissing, "add pipeline: <name>, or run: <command>", "%s has neither a pipeline nor a command", w.Label)
	}
}
