package timeline

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Totals holds the metrics of a run, in all and by stage.
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
	Returns int     `json:"returns,omitempty"` // over counted edges that begin at it
	Outcome string  `json:"outcome,omitempty"` // of the last visit
	// MaxTokens and MaxUSD are the stage's own ceilings, 0 for none.
	MaxTokens int64   `json:"max_tokens,omitempty"`
	MaxUSD    float64 `json:"max_usd,omitempty"`
}

// Cycle is a counted edge that has been taken.
type Cycle struct {
	Edge  string `json:"edge"`
	Count int    `json:"count"` // returns over it in the run
	Limit int    `json:"limit"`
}

// cycles are the counted edges taken so far, by name.
type cycles map[string]Cycle

func (c cycles) add(d event.NodeCompleteData) {
	if d.Edge != "" {
		c[d.Edge] = Cycle{d.Edge, c[d.Edge].Count + 1, d.Limit}
	}
}

// Totals returns the sums over all visits.
func (t *Timeline) Totals() Totals {
	sum := Totals{DurationMS: max(0, (t.latest.Sub(t.began) - t.idleTime).Milliseconds()), Cycles: []Cycle{}, Stages: []Stage{}}
	for _, edge := range slices.Sorted(maps.Keys(t.cycles)) {
		sum.Cycles = append(sum.Cycles, t.cycles[edge])
	}
	stages := map[string]*Stage{}
	for _, v := range t.Visits() {
		s := stages[v.Path]
		if s == nil {
			s = &Stage{Stage: v.Stage, Path: v.Path}
			stages[v.Path] = s
		}
		s.add(v)
	}
	for n := range t.plan.All() {
		s := stages[n.Path]
		if s == nil {
			continue
		}
		s.Kind = n.Kind
		if n.Policy != nil && n.Policy.Cost != nil {
			s.MaxTokens, s.MaxUSD = n.Policy.Cost.MaxTokens, n.Policy.Cost.MaxUSD
		}
		sum.Stages = append(sum.Stages, *s)
		if n.Kind != plan.KindPipeline { // its stages count themselves
			sum.Visits += s.Visits
			sum.Work = sum.plus(s.Work)
		}
	}
	return sum
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

// plus returns the sum of both.
func (w Work) plus(x Work) Work {
	return Work{
		Iterations: w.Iterations + x.Iterations, Attempts: w.Attempts + x.Attempts, Retries: w.Retries + x.Retries,
		StageRetries: w.StageRetries + x.StageRetries, Heals: w.Heals + x.Heals, Usage: w.Usage.Plus(&x.Usage),
		UnknownTokens: w.UnknownTokens + x.UnknownTokens, UnknownCost: w.UnknownCost + x.UnknownCost,
	}
}

// Tokens returns the number of input and output tokens, nil if unknown.
func (w Work) Tokens() *int64 { return event.Sum(w.Usage.InputTokens, w.Usage.OutputTokens) }
