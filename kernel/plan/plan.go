package plan

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
	Name      string   `json:"name"`
	CreatedAt string   `json:"created_at"`      // UTC, seconds, RFC 3339
	Inputs    []string `json:"inputs,omitzero"` // absolute paths of the initial inputs, sorted; nil: none were asked for
}

// Pipeline repeats the head of the pipeline file.
type Pipeline struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Inputs      []string          `json:"inputs,omitempty"` // as written: paths, globs, directories
	Commands    map[string]string `json:"commands,omitempty"`
	Overrides   *Overrides        `json:"overrides,omitempty"` // nil unless something was said over the file
	Policy      *Policy           `json:"policy,omitempty"`    // nil unless the file has the key
}

// Overrides are what the command line, or else the environment, said over the file. Provider and model
// are in effect in the nodes already; for the others see [Plan.ContextOf] and [Plan.CommandsOf].
type Overrides struct {
	Provider string            `json:"provider,omitempty"`
	Model    string            `json:"model,omitempty"`
	Context  string            `json:"context,omitempty"`
	Inputs   []string          `json:"inputs,omitempty"`
	Commands map[string]string `json:"commands,omitempty"`
}

// Dependencies are the tools that the Bash engine would need; kept for readers of old plans.
type Dependencies struct {
	JQ   bool `json:"jq"`
	YQ   bool `json:"yq"`
	Tmux bool `json:"tmux"`
	BD   bool `json:"bd"` // some termination is a queue
}

// Find returns the node with the given path ("0", "2.1"), nil if there is none.
func (p *Plan) Find(path string) *Node {
	return find(p.Nodes, path)
}

func find(nodes []Node, path string) *Node {
	for i := range nodes {
		n := &nodes[i]
		if n.Path == path {
			return n
		}
		if len(path) > len(n.Path) && path[:len(n.Path)] == n.Path && path[len(n.Path)] == '.' {
			if n.Plan != nil {
				return find(n.Plan.Nodes, path)
			}
			return find(n.Stages, path)
		}
	}
	return nil
}

// Next returns the path of the node that follows path in list order, "" after the last one.
func (p *Plan) Next(path string) string {
	for i := range p.Nodes {
		if p.Nodes[i].Path == path && i+1 < len(p.Nodes) {
			return p.Nodes[i+1].Path
		}
	}
	return ""
}

// PathOf returns the path of the top-level node with the given id, "" if there is none.
func (p *Plan) PathOf(id string) string {
	for i := range p.Nodes {
		if p.Nodes[i].ID == id {
			return p.Nodes[i].Path
		}
	}
	return ""
}

// Index returns the position of the top-level node with the given path, -1 if there is none.
func (p *Plan) Index(path string) int {
	for i := range p.Nodes {
		if p.Nodes[i].Path == path {
			return i
		}
	}
	return -1
}
