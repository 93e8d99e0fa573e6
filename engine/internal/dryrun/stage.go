package dryrun

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/prompt"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Stage describes a stage of the plan in its first iteration. Names of files are relative to the
// project.
type Stage struct {
	Node   string `json:"node"`             // path
	ID     string `json:"id"`               // of the node, or of the stage in a block
	Ref    string `json:"stage,omitempty"`  // the stage's name, "" for an inline prompt
	Branch string `json:"branch,omitempty"` // the provider's id in the block

	Provider    string           `json:"provider"`
	Model       string           `json:"model"`
	Termination plan.Termination `json:"termination"`
	Commands    []string         `json:"commands,omitempty"` // names of the commands in the stage's context
	// Sandbox is the isolation requested for the stage's provider, nil for none; the caller fills it in.
	Sandbox *plan.Sandbox `json:"sandbox,omitempty"`

	// Inputs are the inputs in the iteration's context.
	Inputs Inputs `json:"inputs"`
	// Files are the paths that the iteration would read and write.
	Files Files `json:"files"`

	PromptPath string `json:"prompt_path,omitempty"` // "" for an inline prompt
	Prompt     string `json:"prompt"`                // resolved
	// Wraps is the command that runs instead of an agent, "" for a stage with a prompt.
	Wraps string `json:"wraps,omitempty"`
	// Unresolved are the variables that stay unchanged in the prompt, in order, each once.
	Unresolved []string `json:"unresolved,omitempty"`
}

// Inputs are the files that earlier work would leave for a stage.
type Inputs struct {
	Initial []string `json:"initial"` // absolute paths
	// From is the node that inputs.from names, "" for none. Outputs are the outputs of that node that inputs.select
	// selects, if each iteration has an output. A parallel block or an embedded pipeline has no outputs here.
	From    string   `json:"from,omitempty"`
	Outputs []string `json:"outputs"`
	// Parallel is inputs.from_parallel as written, null without it.
	Parallel json.RawMessage `json:"from_parallel,omitempty"`
}

// Files are the files of a stage's first iteration.
type Files struct {
	Dir      string `json:"iteration_dir"`
	Context  string `json:"context"`
	Result   string `json:"result"`
	Progress string `json:"progress"`
	Output   string `json:"output,omitempty"` // output_path, "" without one
}

// Stages returns every stage of the plan. A stage of a parallel block is returned once for each provider, a stage of
// an embedded plan with its path in the outer plan. end is the state at the end of the plan's [Simulate], with the
// number of iterations of each node.
func Stages(p *plan.Plan, end state.State, roots sources.Roots) ([]Stage, error) {
	s := shown{p, end, roots}
	var all []Stage
	for _, at := range locations(p) {
		stage, err := s.stage(at)
		if err != nil {
			return nil, err
		}
		all = append(all, stage)
	}
	return all, nil
}

// locations returns the first iterations of all stages of a plan.
func locations(p *plan.Plan) []event.Location {
	var all []event.Location
	for n := range p.All() {
		at := event.Location{Node: n.Path, Visit: 1, Run: 1, Iteration: 1}
		if n.Kind == plan.KindStage {
			all = append(all, at)
		}
		for _, provider := range n.Providers {
			for j := range n.Stages {
				at.Node, at.Branch = fmt.Sprintf("%s.%d", n.Path, j), provider.ID()
				all = append(all, at)
			}
		}
	}
	return all
}

// shown is a plan whose stages are previewed.
type shown struct {
	plan  *plan.Plan
	end   state.State
	roots sources.Roots
}

// stage returns the stage at a location.
func (s shown) stage(at event.Location) (Stage, error) {
	n := progress.StageAt(s.plan, s.end, at)
	if n == nil {
		return Stage{}, fmt.Errorf("preview: the plan has no stage at %s", at.Node)
	}
	stage := Stage{Node: at.Node, ID: n.ID, Ref: n.Ref, Branch: at.Branch, Termination: n.Termination, PromptPath: n.PromptPath}
	if n.WrapsCommand() {
		stage.Wraps = n.Wraps.Run
	}
	if n.Provider != nil {
		stage.Provider, stage.Model = n.Provider.Type, n.Provider.Model
	}
	stage.Commands = slices.Sorted(maps.Keys(s.plan.EffectiveCommands(n)))
	var err error
	if stage.Files, err = s.files(n, at); err != nil {
		return Stage{}, err
	}
	if stage.Inputs, err = s.inputs(n, at); err != nil {
		return Stage{}, err
	}
	template, err := s.template(n)
	if err != nil {
		return Stage{}, err
	}
	stage.Prompt = prompt.ReplaceVariables(template, s.values(n, at, stage.Files), n.HasContract())
	for _, v := range prompt.Leftovers(template, n.HasContract()) {
		if !slices.Contains(stage.Unresolved, v.Text) {
			stage.Unresolved = append(stage.Unresolved, v.Text)
		}
	}
	return stage, nil
}

// session returns the session's directory, relative to the project.
func (s shown) session() string { return path.Join(store.RunsDir, s.plan.Session.Name) }

func (s shown) files(n *plan.Node, at event.Location) (Files, error) {
	node, err := store.NodeAt(s.plan, at)
	if err != nil {
		return Files{}, err
	}
	it := node.Iteration(at.Iteration)
	f := Files{
		Dir: path.Join(s.session(), string(it)), Context: path.Join(s.session(), it.Context()), Result: path.Join(s.session(), it.Result()),
		Progress: path.Join(s.session(), node.Progress()),
		Output:   strings.NewReplacer("${SESSION}", s.plan.Session.Name, "${SESSION_NAME}", s.plan.Session.Name).Replace(n.OutputPath),
	}
	switch {
	case at.Branch != "":
		scope, err := store.ProviderAt(s.plan, at)
		if err != nil {
			return Files{}, err
		}
		f.Progress = path.Join(s.session(), scope.Progress())
		if f.Output != "" {
			f.Output = path.Join(s.session(), string(scope), path.Clean("/"+filepath.ToSlash(f.Output)))
		}
	case s.end.Mode == "loop":
		f.Progress = path.Join(s.session(), store.ProgressFile(s.plan.Session.Name))
	}
	return f, nil
}

// values returns the values of the prompt's variables in the first iteration. The step and the input artifact stay
// variables, since only a run has them; there is no feedback yet.
func (s shown) values(n *plan.Node, at event.Location, f Files) map[string]string {
	absolute := func(name string) string { return filepath.Join(s.roots.Project, filepath.FromSlash(name)) }
	values := map[string]string{
		"CTX": absolute(f.Context), "RESULT": absolute(f.Result), "STATUS": absolute(path.Join(f.Dir, "status.json")),
		"SESSION": s.plan.Session.Name, "ITERATION": "1", "INDEX": "0",
		"OUTPUT_PATH": f.Output, "PROGRESS": absolute(f.Progress), "CONTEXT": s.plan.EffectiveContext(n),
		"INPUT_ARTIFACT": "${INPUT_ARTIFACT}",
	}
	if n.Steps != nil {
		values["STEP"] = "${STEP}"
	}
	node, err := store.NodeAt(s.plan, at)
	if err == nil && s.end.Mode != "loop" && at.Branch == "" {
		values["OUTPUT"] = absolute(path.Join(s.session(), node.Output(1, n.Termination.Max())))
	}
	if err == nil && n.Artifact != nil {
		values["ARTIFACT"] = absolute(path.Join(s.session(), node.Iteration(at.Iteration).Artifact()))
	}
	return values
}

// inputs returns the initial inputs, and the outputs of the node that inputs.from names.
func (s shown) inputs(n *plan.Node, at event.Location) (Inputs, error) {
	in := Inputs{
		Initial: append([]string{}, s.plan.Session.Inputs...), Outputs: []string{},
		From: n.Inputs.From(), Parallel: n.Inputs["from_parallel"],
	}
	nodes, _ := s.plan.Siblings(at.Outer()) // the names in an embedded plan are its own
	i := slices.IndexFunc(nodes, func(n plan.Node) bool { return n.ID == in.From })
	if i < 0 {
		return in, nil
	}
	from := nodes[i].Path
	node, err := store.NodeAt(s.plan, event.Location{Node: from, Visit: 1, Run: at.Run})
	if err != nil {
		return in, err
	}
	last := s.end.Nodes[from].Loop.Completed
	first := max(1, last)
	if n.Inputs.Select() != "latest" {
		first = max(1, last-maxListed+1)
	}
	for i := first; i <= last; i++ {
		in.Outputs = append(in.Outputs, path.Join(s.session(), node.Iteration(i).Output()))
	}
	return in, nil
}

// maxListed bounds the list of outputs.
const maxListed = 100

// template reads the prompt's text.
func (s shown) template(n *plan.Node) (string, error) {
	if n.Prompt != "" || n.PromptPath == "" {
		return n.Prompt, nil
	}
	_, text, err := prompt.ReadFile(s.roots, s.plan.Session.Name, n.PromptPath)
	if err != nil {
		return "", fmt.Errorf("read prompt of %s: %w", n.ID, err)
	}
	return string(text), nil
}
