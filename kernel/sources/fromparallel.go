package sources

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// crossProvider is the message for a from_parallel within its own block (REQUIREMENTS U009). Its text is fixed.
const crossProvider = "Cross-provider dependencies within a parallel block are not supported. Split into sequential blocks."

// checkParallel checks from_parallel: the id of a stage of an earlier block, a map, or a list of these.
func checkParallel(m dialect.Map, s Scope) {
	v := m.Get("from_parallel")
	switch {
	case v.Node == nil:
	case v.Kind == yamldoc.List:
		for _, item := range v.Items {
			checkParallelSource(m, item, s)
		}
	default:
		checkParallelSource(m, v.Node, s)
	}
}

// checkParallelSource checks one item of from_parallel.
func checkParallelSource(m dialect.Map, n *yamldoc.Node, s Scope) {
	switch n.Kind {
	case yamldoc.Bool, yamldoc.Number, yamldoc.Text:
		wanted := parallelSource{stage: dialect.TrimNewlines(n.Source), at: m.At(n.Pos)}
		if wanted.stage == "" {
			wanted.at.Errorf(yamldoc.CodeMissing, "write the id of a stage", "from_parallel names no stage")
			return
		}
		wanted.resolve(s)
	case yamldoc.Map:
		inner := m.Nested(n, "from_parallel")
		inner.CheckKeys(&dialect.Source)
		checkSelect(inner)
		wanted := parallelSource{stage: inner.RequiredText("stage"), at: inner.Location(inner.Get("stage"))}
		block, at := inner.Text("block")
		wanted.block, wanted.blockAt = block, inner.Location(at)
		if found := wanted.resolve(s); found != nil {
			checkFilter(inner, found)
		}
	default:
		m.WrongItem(n, "from_parallel", "the id of a stage, a map, or a list of these")
	}
}

// checkFilter checks that the block has the requested providers.
func checkFilter(m dialect.Map, block *Outline) {
	items, ok := m.List("providers")
	if ok && len(items) == 0 {
		m.Errorf(m.Get("providers").Pos, yamldoc.CodeMissing, "leave the key out for all of them", "providers of from_parallel is empty")
	}
	for _, item := range items {
		switch {
		case item.Kind == yamldoc.List || item.Kind == yamldoc.Map || item.Kind == yamldoc.Null:
			m.WrongItem(item, "a provider", "text")
		case !slices.Contains(block.Block.providers, dialect.TrimNewlines(item.Source)):
			m.Errorf(item.Pos, yamldoc.CodeInputs, dialect.DidYouMean(dialect.TrimNewlines(item.Source), block.Block.providers),
				"block %q has no provider %q", block.ID, dialect.TrimNewlines(item.Source))
		}
	}
}

// parallelSource references the outputs of a stage of a parallel block.
type parallelSource struct {
	stage, block string // block "": the first block with the stage
	at, blockAt  dialect.Location
}

// resolve returns the referenced block. It returns nil and reports a fault if the block is not an earlier one.
func (w parallelSource) resolve(s Scope) *Outline {
	if w.stage == "" {
		return nil // already reported
	}
	switch found := w.candidates(s.earlier()); {
	case len(found) > 0:
		w.checkAmbiguous(found)
		return found[0]
	case s.ownBlock() != nil && (w.block == s.Nodes[s.Node].ID || w.block == "" && slices.Contains(s.ownBlock().Stages, w.stage)):
		w.at.Errorf(yamldoc.CodeInputs, "", crossProvider)
	case len(w.candidates(s.later())) > 0:
		w.at.Errorf(yamldoc.CodeInputs, "move that block up", "from_parallel names stage %q of a block that does not run before this node", w.stage)
	case w.block != "":
		w.reportBlock(s)
	default:
		w.reportStage(s)
	}
	return nil
}

// candidates returns the blocks with the stage.
func (w parallelSource) candidates(nodes []Outline) []*Outline {
	var found []*Outline
	for i := range nodes {
		o := &nodes[i]
		if o.Block != nil && slices.Contains(o.Block.Stages, w.stage) && (w.block == "" || w.block == o.ID) {
			found = append(found, o)
		}
	}
	return found
}

func (w parallelSource) checkAmbiguous(found []*Outline) {
	if len(found) == 1 || w.block != "" {
		return
	}
	w.at.Warnf(yamldoc.CodeAmbiguous, fmt.Sprintf("name the block: {stage: %s, block: %s}", w.stage, found[0].ID),
		"stage %q is in several blocks: block %q is used", w.stage, found[0].ID)
}

// reportBlock reports a block that does not exist or lacks the stage.
func (w parallelSource) reportBlock(s Scope) {
	found := findOutline(s.earlier(), w.block)
	switch {
	case found != nil && found.Block != nil:
		w.at.Errorf(yamldoc.CodeInputs, dialect.DidYouMean(w.stage, found.Block.Stages), "block %q has no stage %q", w.block, w.stage)
	case found != nil:
		w.blockAt.Errorf(yamldoc.CodeInputs, "use inputs.from", "from_parallel names node %q, which is not a parallel block", w.block)
	case findOutline(s.later(), w.block) != nil:
		w.blockAt.Errorf(yamldoc.CodeInputs, "move that block up", "from_parallel names %q, which does not run before this node", w.block)
	default:
		w.blockAt.Errorf(yamldoc.CodeInputs, dialect.DidYouMean(w.block, blockIDs(s.earlier())), "from_parallel names unknown block %q", w.block)
	}
}

// reportStage reports a stage that is in no earlier block.
func (w parallelSource) reportStage(s Scope) {
	blocks := blockIDs(s.earlier())
	named := findOutline(s.earlier(), w.stage)
	switch {
	case len(blocks) == 0:
		w.at.Errorf(yamldoc.CodeInputs, "use inputs.from", "from_parallel needs an earlier parallel block, and there is none")
	case named != nil && named.Block != nil:
		w.at.Errorf(yamldoc.CodeInputs, "name one of its stages: "+strings.Join(named.Block.Stages, ", "), "from_parallel names %q, which is a block", w.stage)
	case named != nil:
		w.at.Errorf(yamldoc.CodeInputs, "use inputs.from", "from_parallel names node %q, which is not a stage of a parallel block", w.stage)
	default:
		var stages []string
		for _, o := range s.earlier() {
			if o.Block != nil {
				stages = append(stages, o.Block.Stages...)
			}
		}
		w.at.Errorf(yamldoc.CodeInputs, dialect.DidYouMean(w.stage, stages), "from_parallel names unknown stage %q", w.stage)
	}
}

func blockIDs(nodes []Outline) []string {
	var ids []string
	for _, o := range nodes {
		if o.Block != nil {
			ids = append(ids, o.ID)
		}
	}
	return ids
}

func checkSelect(m dialect.Map) { m.Decode(&dialect.Inputs, &struct{}{}, "select") }
