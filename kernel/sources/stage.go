package sources

import (
	"cmp"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

var unusedStageKeys = []string{"output_parse", "items"}

// Settings are the keys that a node and a stage.yaml share. The values of the node win.
type Settings struct {
	dialect.Map `json:"-"`
	Description string           `json:"description"`
	Provider    string           `json:"provider"`
	ProviderAt  dialect.Location `json:"-"`
	Model       string           `json:"model"`
	Context     string           `json:"context"`
	OutputPath  string           `json:"output_path"`
	Delay       *float64         `json:"delay"`
	Termination Termination      `json:"-"`
	Guardrails  *plan.Guardrails `json:"-"`
	Approval    Approval         `json:"-"`
}

// Stage is one stage.yaml.
type Stage struct {
	Settings     `json:"-"`
	Dir          StageDir          `json:"-"`
	Name         string            `json:"name"`   // default: the name of the directory
	Prompt       string            `json:"prompt"` // as written; may be empty
	PromptAt     dialect.Location  `json:"-"`
	Commands     map[string]string `json:"commands"`
	Role         string            `json:"role"`
	Artifact     Artifact          `json:"-"`
	Requirements Requirements      `json:"-"`
	Wraps        Wraps             `json:"-"`
	CheckBefore  bool              `json:"check_before"`
	NoTmux       bool              `json:"-"`
	Data         []byte            `json:"-"`

	PromptPath string `json:"-"` // path of the prompt in the plan; set by the first node that needs it
}

// agentKeys are the keys that need an agent and are read alike in nodes and stages.
var agentKeys = []string{"provider", "model", "context", "output_path", "delay"}

// ReadSettings reads the shared keys.
func ReadSettings(m dialect.Map) Settings {
	s := Settings{Map: m}
	m.Decode(&dialect.Node, &s, append(agentKeys, "description")...)
	s.ProviderAt = m.Location(m.Get("provider"))
	s.Termination = readTermination(m)
	s.Guardrails = ReadGuardrails(m)
	s.Approval = ReadApproval(m)
	return s
}

// NewStage reads the content of a stage.yaml.
func NewStage(dir StageDir, m dialect.Map, data []byte) *Stage {
	m.CheckKeys(&dialect.Stage)
	m.WarnUnused(unusedStageKeys...)
	s := &Stage{Settings: ReadSettings(m), Dir: dir, Data: data, NoTmux: DeniesTmuxIn(m)}
	m.Decode(&dialect.Stage, s, "name", "prompt", "commands", "check_before", "role")
	s.Name, s.PromptAt = cmp.Or(s.Name, dir.Name), m.Location(m.Get("prompt"))
	s.Requirements = ReadRequirements(m, data)
	if s.Wraps = ReadWraps(m); s.Wraps.Run != "" {
		s.Wraps.Dir = dir
	}
	if !s.Wraps.IsSet() {
		WarnUnread(m, "a stage")
		if runs := m.Get("runs"); runs.Node != nil && runs.Kind != yamldoc.Map {
			m.WarnIgnored([]string{"runs"}, "a stage", "write it on the node, or write max: under termination:")
		}
	}
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

// ReadDefaults reads the map under the key defaults of a pipeline.
func ReadDefaults(m dialect.Map) Settings {
	s := Settings{}
	if inner, ok := m.DecodeAt("defaults", &dialect.Defaults, &s); ok {
		s.Map, s.ProviderAt = inner, inner.Location(inner.Get("provider"))
	}
	return s
}

// RefuseApproval reports a stage of a block with an approval: the block asks the user.
func (a Node) RefuseApproval(own, stage Approval) {
	switch {
	case own.Required:
		a.Refuse("require_human_approval", "write it on the block", "the user is asked after the block")
	case own.WithDefault(stage).Required:
		a.Errorf(a.Location(a.Get("stage", "loop")).Pos, yamldoc.CodeConflict, "write require_human_approval: true on the block and false here",
			"the stage of %s needs the user's approval, but no question is asked inside a block", a.Label)
	}
}

// CheckWraps reports keys that are not allowed, or have no effect, in a stage.yaml with wraps.
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

// CheckIgnored checks the types of keys that have no effect on a node without a stage.
func (a Node) CheckIgnored() {
	a.Decode(&dialect.Node, &struct{}{}, agentKeys...)
	_ = readTermination(a.Map)
}
