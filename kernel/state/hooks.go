package state

import (
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// EndHooksBegun reports whether end hooks have begun to answer or to ask. The outcome is then final, and the
// run continues with the next hook.
func (s State) EndHooksBegun(loc event.Location, c HookCursor) bool {
	if !strings.HasSuffix(c.Point, "_end") || c.Point == string(plan.PointIterationEnd) {
		return false
	}
	loc.Iteration = c.Iteration
	for _, q := range s.Questions {
		if kind, other, n, ok := q.Key.Parse(); ok && kind == event.KeyHook && other == loc && n/HookRoundStep == c.Round {
			return true
		}
	}
	return c.Done > 0
}

// UpdateHooks changes the hook cursor and the injected texts at a hook point. They belong to the session, the current
// node, a provider of its block, or the loop at the location.
func (s *State) UpdateHooks(point plan.HookPoint, loc event.Location, change func(*Hooks)) {
	n := s.Nodes[s.At]
	switch point {
	case plan.PointSessionStart, plan.PointSessionEnd:
		change(&s.Hooks)
		return
	case plan.PointStageStart, plan.PointStageEnd:
		h := Hooks{n.HookCursor, n.Injected}
		change(&h)
		n.HookCursor, n.Injected = h.HookCursor, h.Injected
	case plan.PointParallelProviderStart, plan.PointParallelProviderEnd:
		b := n.Branches[loc.Branch]
		change(&b.Hooks)
		n.Branches[loc.Branch] = b
	default:
		ref, _ := n.FindLoop(loc)
		change(&ref.Loop.Hooks)
		n.SetLoop(loc, ref.Loop)
	}
	s.Nodes[s.At] = n
}

// InjectedTexts returns the texts of hooks for the prompts of an iteration at the location, the widest scope first:
// session, enclosing nodes, node, provider, loop.
func (s State) InjectedTexts(loc event.Location) []event.Ref {
	n := s.Nodes[loc.Outer()]
	texts := append([]event.Ref{}, s.Injected...)
	for i, c := range loc.Outer() + "." {
		if c == '.' {
			texts = append(texts, s.Nodes[loc.Outer()[:i]].Injected...)
		}
	}
	if loc.Branch != "" {
		texts = append(texts, n.Branches[loc.Branch].Injected...)
	}
	return append(texts, s.LoopAt(loc).Injected...)
}

// AppendContext adds the user's text to the text for the next prompts.
func (s *State) AppendContext(text string) {
	switch {
	case text == "":
	case s.Context == "":
		s.Context = text
	default:
		s.Context += "\n" + text
	}
}

// ConsumeContext removes a number of bytes from the start of the user's context, because the last prompts contained
// them.
func (s *State) ConsumeContext(bytes int) {
	s.Context = s.Context[min(bytes, len(s.Context)):]
	if len(s.Context) > 0 && s.Context[0] == '\n' {
		s.Context = s.Context[1:]
	}
}
