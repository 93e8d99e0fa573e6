package state

import "github.com/dodo-digital/agent-pipelines/kernel/event"

// AppendContext keeps the user's text for the next prompts.
func (s *State) AppendContext(text string) {
	switch {
	case text == "":
	case s.Context == "":
		s.Context = text
	default:
		s.Context += "\n" + text
	}
}

// ConsumeContext removes the first bytes of the user's context, which the last prompts contained.
func (s *State) ConsumeContext(bytes int) {
	s.Context = s.Context[min(bytes, len(s.Context)):]
	if len(s.Context) > 0 && s.Context[0] == '\n' {
		s.Context = s.Context[1:]
	}
}

// InjectedTexts returns the texts of hooks for the prompts of an iteration at the location, the widest scope first:
// session, enclosing nodes, location.
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
