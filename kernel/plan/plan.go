package plan

import (
	"iter"
	"slices"
	"strings"
)

// Version is the version of the plan.json format.
const Version = 1

// Plan is one compiled pipeline. It is not changed after compilation and therefore safe for
// concurrent use.
type Plan struct {
	Version      int          `json:"version"`     // always [Version]
	CompiledAt   string       `json:"compiled_at"` // UTC, seconds, RFC 3339
	Source       Source       `json:"source"`
	Session      Session      `json:"session"`
	Pipeline     Pipeline     `json:"pipeline"`
	Dependencies Dependencies `json:"dependencies"`
	Nodes        []Node       `json:"nodes"` // in list order; never nil in JSON
}

// Source is the compiled file.
type Source struct {
	Path   string `json:"path"`   // relative to the project if it is inside it
	SHA256 string `json:"sha256"` // of the file's bytes, lower-case hex
}

// Session is the session that the plan was compiled for.
type Session struct {
	Name      string   `json:"name"`            // of an embedded plan: its pipeline's name
	CreatedAt string   `json:"created_at"`      // UTC, seconds, RFC 3339
	Inputs    []string `json:"inputs,omitzero"` // absolute paths of the initial inputs, sorted; nil if there were none
}

// Pipeline repeats the head of the pipeline file.
type Pipeline struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Inputs      []string          `json:"inputs,omitempty"`    // as written: paths, globs, directories
	Commands    map[string]string `json:"commands,omitempty"`  // they override those of the settings files
	Overrides   *Overrides        `json:"overrides,omitempty"` // nil unless there are overrides
	Policy      *Policy           `json:"policy,omitempty"`    // nil unless the file has the key

	// Guardrails bound the whole run, in an embedded plan each of its runs; nil unless the file has the key.
	Guardrails *Guardrails `json:"guardrails,omitempty"`

	// Hooks are called for the nodes of this plan; nil unless the file has the key, or another key that implies
	// hooks.
	Hooks []Hook `json:"hooks,omitempty"`

	// ExitAfter is the id of the node whose success completes the pipeline; "" for the last one.
	ExitAfter string `json:"exit_after,omitempty"`
}

// Overrides are the settings of the command line or the environment that override the file.
//
// Provider and model are already applied to the nodes, embedded ones included but not those in parallel blocks; for
// the others see [Plan.EffectiveContext] and [Plan.EffectiveCommands]. An embedded plan has no overrides of its own.
type Overrides struct {
	Provider string            `json:"provider,omitempty"`
	Model    string            `json:"model,omitempty"`
	Context  string            `json:"context,omitempty"`
	Inputs   []string          `json:"inputs,omitempty"`
	Commands map[string]string `json:"commands,omitempty"`
	// Sandbox is the minimum isolation of every process of the run.
	Sandbox *Sandbox `json:"sandbox,omitempty"`
	// Mode is the minimum mode of every node; see [Modes].
	Mode string `json:"mode,omitempty"`
	// Skip are the ids of the top-level nodes to skip.
	Skip []string `json:"skip,omitempty"`
	// Timeouts override policy.timeout, in seconds, by node id.
	Timeouts map[string]float64 `json:"timeouts,omitempty"`
	// MaxCycles overrides the limit of every edge, 0: not set.
	MaxCycles int `json:"max_cycles,omitempty"`
	// Timeout overrides the policy's timeout of the run, in seconds.
	Timeout float64 `json:"timeout,omitempty"`
	// Start is the id of the top-level node that the run begins with, ExitAfter that of the node whose success
	// completes it.
	Start     string `json:"start,omitempty"`
	ExitAfter string `json:"exit_after,omitempty"`
	// Supervised asks the user after every node but the last, Iterate after the nodes with the ids. Hooks contains
	// the resulting hooks.
	Supervised bool     `json:"supervised,omitempty"`
	Iterate    []string `json:"iterate,omitempty"`
	// Artifacts are the files supplied for the run, by name: of a node of the pipeline, or of a field of the run's
	// input.
	Artifacts map[string]string `json:"artifacts,omitempty"`
}

// Dependencies are the tools that the Bash engine would need; kept for readers of old plans.
type Dependencies struct {
	JQ   bool `json:"jq"`
	YQ   bool `json:"yq"`
	Tmux bool `json:"tmux"`
	BD   bool `json:"bd"` // some termination is a queue
}

// findHead returns the node of the plan's own list that is at path or contains it, nil if there is none. below is the
// rest of the path, "" for the node itself.
func (p *Plan) findHead(path string) (n *Node, below string) {
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Path == path {
			return n, ""
		}
		if below, inside := strings.CutPrefix(path, n.Path+"."); inside && below != "" {
			return n, below
		}
	}
	return nil, ""
}

// Find returns the node with the given path ("0", "2.1"), nil if there is none. A node of an embedded plan is
// returned as a copy whose paths, including those of block stages, are relative to the whole plan.
func (p *Plan) Find(path string) *Node {
	switch n, below := p.findHead(path); {
	case n == nil || below == "":
		return n
	case n.Plan != nil:
		return n.Plan.Find(below).withPrefix(n.Path)
	default:
		return findStage(n, path)
	}
}

func findStage(block *Node, path string) *Node {
	for i := range block.Stages {
		if block.Stages[i].Path == path {
			return &block.Stages[i]
		}
	}
	return nil
}

// withPrefix returns a copy of n with the paths below that of the node that embeds it; nil for nil.
func (n *Node) withPrefix(path string) *Node {
	if n == nil {
		return nil
	}
	c := *n
	c.Path = path + "." + n.Path
	c.Stages = slices.Clone(n.Stages)
	for i := range c.Stages {
		c.Stages[i].Path = path + "." + c.Stages[i].Path
	}
	return &c
}

// All yields every node of the plan in list order, those of embedded plans after the node that embeds them, with
// paths relative to the whole plan. It omits the stages of blocks.
func (p *Plan) All() iter.Seq[*Node] {
	return func(yield func(*Node) bool) { p.yieldNodes("", yield) }
}

// Hooks yields the hooks of the plan and of the plans that it embeds.
func (p *Plan) Hooks() iter.Seq[*Hook] {
	return func(yield func(*Hook) bool) {
		plans := []*Plan{p}
		for n := range p.All() {
			if n.Plan != nil {
				plans = append(plans, n.Plan)
			}
		}
		for _, holder := range plans {
			for i := range holder.Pipeline.Hooks {
				if !yield(&holder.Pipeline.Hooks[i]) {
					return
				}
			}
		}
	}
}

func (p *Plan) yieldNodes(outer string, yield func(*Node) bool) bool {
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if outer != "" {
			n = n.withPrefix(outer)
		}
		if !yield(n) || n.Plan != nil && !n.Plan.yieldNodes(n.Path, yield) {
			return false
		}
	}
	return true
}

// Next returns the path of the node that follows path in its list, "" after the last one.
func (p *Plan) Next(path string) string {
	n, below := p.findHead(path)
	switch {
	case n == nil:
		return ""
	case below != "" && n.Plan != nil:
		if next := n.Plan.Next(below); next != "" {
			return n.Path + "." + next
		}
	case below == "":
		if i := p.Index(path) + 1; i < len(p.Nodes) {
			return p.Nodes[i].Path
		}
	}
	return ""
}

// Embedder returns the path of the pipeline node that embeds the plan of the node at path, "" for a node of this plan
// itself.
func (p *Plan) Embedder(path string) string {
	_, outer := p.Holder(path)
	return outer
}

// Siblings returns the nodes of the list that contains the node at path, and its position, -1 if there is none. The
// paths are relative to the whole plan.
func (p *Plan) Siblings(path string) (nodes []Node, position int) {
	holder, embedder := p.Holder(path)
	if embedder == "" {
		return p.Nodes, p.Index(path)
	}
	for i := range holder.Nodes {
		nodes = append(nodes, *holder.Nodes[i].withPrefix(embedder))
	}
	return nodes, slices.IndexFunc(nodes, func(n Node) bool { return n.Path == path })
}

// Holder returns the plan whose list contains the node at path, this one or an embedded one, and the path of the
// pipeline node that embeds it, "" for this one.
func (p *Plan) Holder(path string) (holder *Plan, embedder string) {
	n, below := p.findHead(path)
	if below == "" || n.Plan == nil {
		return p, ""
	}
	holder, embedder = n.Plan.Holder(below)
	if embedder == "" {
		return holder, n.Path
	}
	return holder, n.Path + "." + embedder
}

// Index returns the position of the top-level node with the given path, -1 if there is none.
func (p *Plan) Index(path string) int {
	return slices.IndexFunc(p.Nodes, func(n Node) bool { return n.Path == path })
}
