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

// Source says which file was compiled.
type Source struct {
	Path   string `json:"path"`   // relative to the project where it lies inside it
	SHA256 string `json:"sha256"` // of the file's bytes, lower-case hex
}

// Session is the session that the plan was compiled for.
type Session struct {
	Name      string   `json:"name"`            // of an embedded plan: its pipeline's name
	CreatedAt string   `json:"created_at"`      // UTC, seconds, RFC 3339
	Inputs    []string `json:"inputs,omitzero"` // absolute paths of the initial inputs, sorted; nil: none were asked for
}

// Pipeline repeats the head of the pipeline file.
type Pipeline struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Inputs      []string          `json:"inputs,omitempty"`    // as written: paths, globs, directories
	Commands    map[string]string `json:"commands,omitempty"`  // over those of the files of settings
	Overrides   *Overrides        `json:"overrides,omitempty"` // nil unless something was said over the file
	Policy      *Policy           `json:"policy,omitempty"`    // nil unless the file has the key

	// Guardrails bound the whole run, of an embedded plan each of its runs; nil unless the file has the key.
	Guardrails *Guardrails `json:"guardrails,omitempty"`

	// Hooks are called for the nodes of this plan; nil unless the file has the key, or a key that stands for hooks.
	Hooks []Hook `json:"hooks,omitempty"`

	// ExitAfter is the id of the node after which the pipeline is complete, when it ends well; "" for the last one.
	ExitAfter string `json:"exit_after,omitempty"`
}

// Overrides are what the command line, or else the environment, said over the file. Provider and model
// are in effect in the nodes already, embedded ones included, and do not reach into parallel blocks; for
// the others see [Plan.ContextOf] and [Plan.CommandsOf]. An embedded plan has none of its own.
type Overrides struct {
	Provider string            `json:"provider,omitempty"`
	Model    string            `json:"model,omitempty"`
	Context  string            `json:"context,omitempty"`
	Inputs   []string          `json:"inputs,omitempty"`
	Commands map[string]string `json:"commands,omitempty"`
	// Sandbox is the least isolation of every process of the run, whatever the files say.
	Sandbox *Sandbox `json:"sandbox,omitempty"`
	// Mode is the weakest mode of every node, whatever the files say; see [Modes].
	Mode string `json:"mode,omitempty"`
	// Skip are the ids of nodes of the pipeline itself that are left out.
	Skip []string `json:"skip,omitempty"`
	// Timeouts are in seconds, by node id, over policy.timeout of the node.
	Timeouts map[string]float64 `json:"timeouts,omitempty"`
	// MaxCycles is the limit of every edge, 0: as the files say.
	MaxCycles int `json:"max_cycles,omitempty"`
	// Timeout is that of the run in seconds, over the policy's.
	Timeout float64 `json:"timeout,omitempty"`
	// Start and ExitAfter are the ids of the nodes of the pipeline itself that the run begins with, and after which it
	// is complete.
	Start     string `json:"start,omitempty"`
	ExitAfter string `json:"exit_after,omitempty"`
	// Supervised asks a person after every node but the last, Iterate after the nodes with the ids; Hooks has it.
	Supervised bool     `json:"supervised,omitempty"`
	Iterate    []string `json:"iterate,omitempty"`
	// Artifacts are the files that the run was given, by name: of a node of the pipeline, or of a field of what the run
	// starts with.
	Artifacts map[string]string `json:"artifacts,omitempty"`
}

// Dependencies are the tools that the Bash engine would need; kept for readers of old plans.
type Dependencies struct {
	JQ   bool `json:"jq"`
	YQ   bool `json:"yq"`
	Tmux bool `json:"tmux"`
	BD   bool `json:"bd"` // some termination is a queue
}

// head returns the node of the plan's own list that is at path or holds what is there, with the rest of the
// path below it, "" for the node itself; nil if there is none.
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

// Find returns the node with the given path ("0", "2.1"), nil if there is none. A node of an embedded
// plan comes as a copy that has its path in the whole plan, as have the stages of its block.
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

// under is a copy of n whose paths begin with that of the node that embeds it; nil for nil.
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

// All yields every node of the plan in the order of its lists, those of embedded plans after the node
// that embeds them, with their paths in the whole plan. The stages of blocks are not among them.
func (p *Plan) All() iter.Seq[*Node] {
	return func(yield func(*Node) bool) { p.yieldNodes("", yield) }
}

// Hooks yields the hooks of the plan and of the plans that it embeds.
func (p *Plan) Hooks() iter.Seq[*Hook] {
	return func(yield func(*Hook) bool) { p.yieldHooks(yield) }
}

func (p *Plan) yieldHooks(yield func(*Hook) bool) bool {
	for i := range p.Pipeline.Hooks {
		if !yield(&p.Pipeline.Hooks[i]) {
			return false
		}
	}
	for i := range p.Nodes {
		if inner := p.Nodes[i].Plan; inner != nil && !inner.yieldHooks(yield) {
			return false
		}
	}
	return true
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

// Embedder returns the path of the pipeline node that embeds the plan in which the node at path stands,
// "" for a node of this plan itself.
func (p *Plan) Embedder(path string) string {
	_, outer := p.Holder(path)
	return outer
}

// Siblings returns the nodes of the list in which the node at path stands, and its position there, -1 if
// it is in none. The paths are those in the whole plan.
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

// Holder returns the plan in whose list the node at path stands, this one or an embedded one, and the
// path of the pipeline node that embeds that plan, "" for this one.
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
