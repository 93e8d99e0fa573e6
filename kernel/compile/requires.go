package compile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	"github.com/dodo-digital/agent-pipelines/kernel/condition"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// requirements are the keys requires and skip_when of a node or a stage.
type requirements struct {
	object
	requires   map[string][]string
	skipWhen   string
	skipWhenAt value
}

// requirements reads requires and skip_when. data is the content of the file.
func (m object) requirements(data []byte) requirements {
	d := requirements{object: m, requires: m.requires()}
	d.skipWhen, d.skipWhenAt = m.skipWhen(data)
	return d
}

// requires returns the required fields by the source of the input artifact; nil for none.
func (m object) requires() map[string][]string {
	inner, ok := m.objectAt("requires")
	if !ok || len(inner.node.Entries) == 0 {
		return nil
	}
	all := map[string][]string{}
	for _, e := range inner.node.Entries {
		if fields := inner.fieldNames(e.Key); len(fields) > 0 {
			all[e.Key] = fields
		}
	}
	return all
}

// skipWhen returns the expression that decides whether the node is skipped.
func (m object) skipWhen(data []byte) (string, value) {
	text, at := m.text("skip_when")
	if at.Node != nil {
		_, err := condition.ParseSkip(text)
		m.checkCondition(err, at, data)
	}
	return text, at
}

// withDefaults returns the requirements of a node with those of its stage as defaults: lists by source, and the
// expression.
func (d requirements) withDefaults(stage requirements) requirements {
	merged := maps.Clone(stage.requires)
	if merged == nil {
		merged = d.requires
	} else {
		maps.Copy(merged, d.requires)
	}
	return requirements{requires: merged, skipWhen: cmp.Or(d.skipWhen, stage.skipWhen)}
}

// applyTo sets the requirements of the node.
func (d requirements) applyTo(n *plan.Node) { n.Requires, n.SkipWhen = d.requires, d.skipWhen }

// refuseRequirements reports the requirements of a stage of a block: only whole nodes are skipped. Those of the
// stage's own file have no effect there.
func (a nodeSource) refuseRequirements(stage requirements) {
	a.refuse("requires", "write it on the block", "the input artifact is checked before the block")
	a.refuse("skip_when", "write it on the block", "a block is skipped as a whole")
	for _, key := range []string{"requires", "skip_when"} {
		if !a.has(key) && stage.node != nil && stage.has(key) {
			a.Warnf(a.location(a.get("stage", "loop")).pos, yamldoc.CodeNoEffect, "write it on the block", "%s of the stage of %s has no effect inside a block", key, a.label)
		}
	}
}

// checkCondition reports err, the error of a condition. data is the content of the file.
func (m object) checkCondition(err error, at value, data []byte) {
	var fault *condition.Error
	if !errors.As(err, &fault) {
		return
	}
	within := ""
	if fault.Line > 1 {
		within = fmt.Sprintf("line %d, column %d of the condition: ", fault.Line, fault.Column)
	}
	m.Errorf(at.At(data, fault.Offset), yamldoc.CodeCondition, fault.Hint, "%s%s", within, fault.Message)
}
