package timeline

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Totals holds the metrics of a run, in total and by stage.
type Totals struct {
	// DurationMS is the time from the run's first to its last event, without the time in which no kernel held the session.
	DurationMS int64 `json:"duration_ms"`
	Visits     int   `json:"visits"` // of all stages
	Work
	Cycles []Cycle `json:"cycles"` // by edge
	// Stages holds the entered nodes in the order of the plan, those of an embedded pipeline after it. The work of an
	// embedded pipeline counts for its stages and for itself.
	Stages []Stage `json:"stages"`
}

// Stage holds the metrics of all visits of a node.
type Stage struct {
	Stage      string    `json:"stage"` // the node's id
	Path       string    `json:"path"`
	Kind       plan.Kind `json:"kind"`
	Visits     int       `json:"visits"`
	DurationMS int64     `json:"duration_ms"`
	Work
	Steps   *Steps  `json:"steps,omitempty"`   // of the last visit
	Prompt  *Prompt `json:"prompt,omitempty"`  // the longest one, if prompts have a limit
	Returns int     `json:"returns,omitempty"` // over counted edges that begin at the node
	Outcome string  `json:"outcome,omitempty"` // of the last visit
	// MaxTokens and MaxUSD are the stage's own ceilings, 0 for none.
	MaxTokens int64   `json:"max_tokens,omitempty"`
	MaxUSD    float64 `json:"max_usd,omitempty"`
}

// Cycle is a counted edge that has been taken.
type Cycle struct {
	Edge  string `json:"edge"`
	Count int    `json:"count"` // returns over the edge in the run
	Limit int    `json:"limit"`
}

// cycles are the counted edges taken so far, by name.
type cycles map[string]Cycle

func (c cycles) add(d event.NodeCompleteData) {
	if d.Edge != "" {
		c[d.Edge] = Cycle{d.Edge, c[d.Edge].Count + 1, d.Limit}
	}
}

func (s *Stage) add(v Visit) {
	s.Visits++
	s.DurationMS += v.DurationMS
	s.Work = s.plus(v.Work)
	s.Outcome = v.Outcome
	if v.Steps != nil {
		s.Steps = v.Steps
	}
	s.Prompt = longerPrompt(s.Prompt, v.Prompt)
	if v.Edge != "" {
		s.Returns++
	}
}
