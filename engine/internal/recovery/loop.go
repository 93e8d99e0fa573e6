package recovery

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Loop holds the settings of a loop of the Bash engine, as far as the files show them: that engine wrote no plan.
type Loop struct {
	Stage    string   // the stage's name, "" if unknown
	Max      int      // the most iterations, 0 if unknown
	Provider string   // of the last agent's call, "" if unknown
	Model    string   // of the last agent's call, "" if unknown
	Inputs   []string // absolute paths, nil if unknown
}

// BashLoop returns the settings of the session's loop; ok is false unless the session is a loop that the Bash engine
// wrote last.
func (f *SessionFiles) BashLoop() (l Loop, ok bool) {
	mode := ""
	for i := range f.Lines {
		if !f.readable(&f.Lines[i]) {
			continue
		}
		e := f.Lines[i].Event
		var d struct {
			Mode     string `json:"mode"`
			Stage    string `json:"stage"`
			Type     string `json:"type"`
			Provider string `json:"provider"`
			Model    string `json:"model"`
		}
		if json.Unmarshal(e.Data, &d) != nil || e.Cursor != nil && e.Cursor.Provider != "" {
			continue
		}
		switch e.Type {
		case event.SessionStart:
			mode, l.Stage = cmp.Or(mode, d.Mode), cmp.Or(d.Stage, l.Stage)
		case event.NodeStart, event.IterationStart:
			l.Stage, l.Provider, l.Model = cmp.Or(l.Stage, d.Type), cmp.Or(d.Provider, l.Provider), cmp.Or(d.Model, l.Model)
		}
	}
	if f.Origin() != Bash || cmp.Or(mode, f.mode()) != "loop" {
		return Loop{}, false
	}
	dir := f.loopDir()
	l.Stage = cmp.Or(l.Stage, strings.TrimPrefix(dir, loopPrefix))
	l.Max = f.lastMax(dir)
	l.Inputs = f.inputs()
	return l, true
}

// Plan returns a plan of the loop that suffices to show the session's progress but not to run it.
func (l Loop) Plan() *plan.Plan {
	t := plan.Termination{}
	if l.Max > 0 {
		t["max"] = l.Max
	}
	n := plan.Node{Path: "0", ID: l.Stage, Ref: l.Stage, Kind: plan.KindStage, Termination: t}
	if l.Provider != "" {
		n.Provider = &plan.Provider{Type: l.Provider, Model: l.Model}
	}
	return &plan.Plan{Version: plan.Version, Pipeline: plan.Pipeline{Name: l.Stage}, Nodes: []plan.Node{n}}
}

const loopPrefix = "stage-00-"

// loopDir returns the directory of the loop's stage, "" if there is none.
func (f *SessionFiles) loopDir() string {
	entries, err := f.Dir.Entries(".")
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), loopPrefix) {
			return e.Name()
		}
	}
	return ""
}

// lastMax returns max_iterations from the newest context.json of the stage that has it, 0 for none.
func (f *SessionFiles) lastMax(dir string) int {
	if dir == "" {
		return 0
	}
	entries, err := f.Dir.Entries(path.Join(dir, "iterations"))
	if err != nil {
		return 0
	}
	for i := len(entries) - 1; i >= 0; i-- {
		text, err := f.Dir.Read(path.Join(dir, "iterations", entries[i].Name(), "context.json"), 16<<20)
		if err != nil {
			continue
		}
		var c struct {
			Limits struct {
				Max int `json:"max_iterations"`
			} `json:"limits"`
		}
		if json.Unmarshal(text, &c) == nil && c.Limits.Max > 0 {
			return c.Limits.Max
		}
	}
	return 0
}

// inputs returns the initial inputs, the only content of the plan.json that the Bash engine writes for a loop.
func (f *SessionFiles) inputs() []string {
	text, err := f.Dir.Read(store.PlanFile, 16<<20)
	if err != nil {
		return nil
	}
	var p plan.Plan
	if json.Unmarshal(text, &p) != nil {
		return nil
	}
	return p.Session.Inputs
}

// Complete returns an error if the plan lacks something that a run needs.
func Complete(p *plan.Plan) error {
	if p.Version != plan.Version {
		return fmt.Errorf("it has version %d, not %d", p.Version, plan.Version)
	}
	if len(p.Nodes) == 0 {
		return fmt.Errorf("it has no nodes")
	}
	for i := range p.Nodes {
		if err := completeNode(&p.Nodes[i], false); err != nil {
			return err
		}
	}
	return nil
}

func completeNode(n *plan.Node, inBlock bool) error {
	lacks := func(field string) error { return fmt.Errorf("node %q (%s) has no %s", n.ID, n.Path, field) }
	switch {
	case n.Path == "" || n.ID == "":
		return lacks("path or id")
	case n.Kind == plan.KindPipeline && n.Plan == nil:
		return lacks("plan")
	case n.Kind == plan.KindPipeline:
		return Complete(n.Plan)
	case n.Kind == plan.KindParallel && (len(n.Providers) == 0 || len(n.Stages) == 0):
		return lacks("providers or stages")
	case n.Kind == plan.KindParallel:
		for i := range n.Stages {
			if err := completeNode(&n.Stages[i], true); err != nil {
				return err
			}
		}
		return nil
	case n.Kind != plan.KindStage:
		return lacks("known kind")
	case n.Prompt == "" && n.PromptPath == "" && !n.WrapsCommand():
		return lacks("prompt")
	case !inBlock && (n.Provider == nil || n.Provider.Type == ""):
		return lacks("provider")
	}
	return nil
}
