package compile

import (
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

var unusedStageKeys = []string{"output_parse", "items"}

// settings are the keys that a node and a stage.yaml share. The node's win.
type settings struct {
	object
	description string
	provider    string
	providerAt  location
	model       string
	context     string
	outputPath  string
	delay       *float64
	termination termination
	guardrails  *plan.Guardrails
	approval    approval
}

// stage is one stage.yaml.
type stage struct {
	settings
	dir          StageDir
	name         string // the key name; default: the name of the directory
	prompt       string // as written; may be empty
	promptAt     location
	commands     map[string]string
	role         string
	artifact     artifact
	requirements requirements
	wraps        wraps
	checkBefore  bool
	noTmux       bool
	data         []byte

	promptPath string // of the plan; set by the first node that needs it
}

// settings reads the shared keys.
func (m object) settings() settings {
	s := settings{object: m}
	s.description, _ = m.text("description")
	provider, at := m.text("provider")
	s.provider, s.providerAt = provider, m.location(at)
	s.model, _ = m.text("model")
	s.context, _ = m.text("context")
	s.outputPath, _ = m.text("output_path")
	if seconds, at := m.atLeast(0, "delay"); at.Node != nil {
		s.delay = &seconds
	}
	s.termination = m.termination()
	s.guardrails = m.guardrails()
	s.approval = m.approval()
	return s
}

// newStage reads the content of a stage.yaml.
func newStage(dir StageDir, m object, data []byte) *stage {
	m.checkKeys(&dialect.Stage)
	m.warnUnused(unusedStageKeys...)
	s := &stage{settings: m.settings(), dir: dir, data: data, noTmux: m.noTmux(), commands: m.texts("commands")}
	if s.name, _ = m.text("name"); s.name == "" {
		s.name = dir.Name
	}
	prompt, at := m.text("prompt")
	s.prompt, s.promptAt = prompt, m.location(at)
	s.checkBefore = m.boolean("check_before")
	s.requirements = m.requirements(data)
	if s.wraps = m.wraps(); s.wraps.run != "" {
		s.wraps.dir = dir
	}
	s.role, _ = m.text("role")
	if fault := nameFault(s.role); s.role != "" && fault != "" {
		m.Errorf(m.get("role").Pos, yamldoc.CodeIdentifier, "write a word, such as planner", "role %q %s", s.role, fault)
	}
	return s
}

// noTmux reports whether tmux: false is anywhere in m.
func (m object) noTmux() bool { return deniesTmux(m.node) }

func deniesTmux(n *yamldoc.Node) bool {
	if v := n.Get("tmux"); v != nil && v.Any() == false {
		return true
	}
	return slices.ContainsFunc(n.Items, deniesTmux) ||
		slices.ContainsFunc(n.Entries, func(e yamldoc.Entry) bool { return deniesTmux(e.Value) })
}

// approval is the key require_human_approval of a node or a stage.
type approval struct {
	isSet, required bool
	at              location
}

// approval reads require_human_approval.
func (m object) approval() approval {
	at := m.get("require_human_approval")
	return approval{isSet: at.Node != nil, required: m.boolean("require_human_approval"), at: m.location(at)}
}

// withDefault returns a if it is set, else b.
func (a approval) withDefault(b approval) approval {
	if a.isSet {
		return a
	}
	return b
}

func (m object) defaults() settings {
	inner, ok := m.objectAt("defaults")
	if !ok {
		return settings{}
	}
	inner.checkKeys(&dialect.Defaults)
	s := settings{object: inner}
	provider, at := inner.text("provider")
	s.provider, s.providerAt = provider, inner.location(at)
	s.model, _ = inner.text("model")
	return s
}
