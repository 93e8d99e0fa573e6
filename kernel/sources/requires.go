package sources

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	"github.com/dodo-digital/agent-pipelines/kernel/condition"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Requirements are the keys requires and skip_when of a node or a stage.
type Requirements struct {
	dialect.Map `json:"-"`
	Requires    map[string][]string `json:"requires"`
	SkipWhen    string              `json:"skip_when"`
	SkipWhenAt  dialect.Member      `json:"-"`
}

// ReadRequirements reads requires and skip_when. data is the content of the file.
func ReadRequirements(m dialect.Map, data []byte) Requirements {
	d := Requirements{Map: m, SkipWhenAt: m.Get("skip_when")}
	m.Decode(&dialect.Node, &d, "requires", "skip_when")
	if d.SkipWhen != "" {
		_, err := condition.ParseSkip(d.SkipWhen)
		CheckCondition(m, err, d.SkipWhenAt, data)
	}
	return d
}

// WithDefaults returns the requirements of a node with those of its stage as defaults: requires by its keys, and
// skip_when as a whole.
func (d Requirements) WithDefaults(stage Requirements) Requirements {
	merged := maps.Clone(stage.Requires)
	if merged == nil {
		merged = d.Requires
	} else {
		maps.Copy(merged, d.Requires)
	}
	return Requirements{Requires: merged, SkipWhen: cmp.Or(d.SkipWhen, stage.SkipWhen)}
}

// ApplyTo sets the requirements of the node.
func (d Requirements) ApplyTo(n *plan.Node) { n.Requires, n.SkipWhen = d.Requires, d.SkipWhen }

// RefuseRequirements reports requirements on a stage of a block, because only whole nodes are skipped. Requirements in
// its stage.yaml cause a warning.
func (a Node) RefuseRequirements(stage Requirements) {
	a.Refuse("requires", "write it on the block", "the input artifact is checked before the block")
	a.Refuse("skip_when", "write it on the block", "a block is skipped as a whole")
	for _, key := range []string{"requires", "skip_when"} {
		if !a.Has(key) && stage.Node != nil && stage.Has(key) {
			a.Warnf(a.Location(a.Get("stage", "loop")).Pos, yamldoc.CodeNoEffect, "write it on the block", "%s of the stage of %s has no effect inside a block", key, a.Label)
		}
	}
}

// CheckCondition reports err, the error of a condition. data is the content of the file.
func CheckCondition(m dialect.Map, err error, at dialect.Member, data []byte) {
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
