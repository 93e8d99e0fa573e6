package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// ArtifactInfo describes one version of a node's artifact in the latest run of a session.
type ArtifactInfo struct {
	// Node is the node's id, or "$input" for the artifact that the run or an embedded pipeline started with.
	// Path is the node's path in the plan ("0", "2.1"). For $input it is the path of the embedding node, ""
	// for the run.
	Node     string `json:"node"`
	Path     string `json:"path"`
	Provider string `json:"provider,omitempty"` // of a parallel block
	// Type and Version are read from the artifact's envelope.
	Type    string `json:"type"`
	Version string `json:"version"`
	// Visit is the visit that made the artifact, 0 if the run was started with it. Run is the run of the
	// pipeline, set from the second on.
	Visit int `json:"visit"`
	Run   int `json:"run,omitempty"`
	// Latest reports that the node has no newer artifact.
	Latest bool `json:"newest"`
	// Valid reports that the artifact meets the node's contract, or that there is no contract. Faults lists the
	// violations.
	Valid  bool          `json:"valid"`
	Faults []event.Fault `json:"faults,omitempty"`
	// Problem says why the file cannot be read or checked, "" if it can.
	Problem   string    `json:"problem,omitempty"`
	File      string    `json:"file"` // absolute
	Size      int64     `json:"size"` // in bytes
	SHA256    string    `json:"sha256,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`

	ref event.Ref
}

// ArtifactContent is an artifact and its data.
type ArtifactContent struct {
	ArtifactInfo
	Data map[string]any `json:"data"` // without the envelope
	Text []byte         `json:"-"`    // the file: YAML with the envelope
}

// ReadArtifact reads an artifact that [Inspector.Artifacts] listed for the session. The error is of kind
// state_corrupt if the file differs from the recorded one.
func (i Inspector) ReadArtifact(session string, a ArtifactInfo) (*ArtifactContent, error) {
	dir, err := Open(i.env, session)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	read, err := artifact.Load(dir, a.ref)
	if err != nil {
		return nil, err
	}
	text, err := dir.ReadRef(a.ref)
	if err != nil {
		return nil, err
	}
	return &ArtifactContent{ArtifactInfo: a, Data: read.Data, Text: text}, nil
}

// validate reads an artifact and checks it against the contract of its node.
func (a *ArtifactInfo) validate(dir *store.Dir, p *plan.Plan) {
	a.File, a.Size, a.SHA256 = dir.Abs(a.ref.Path), a.ref.Size, a.ref.SHA256
	read, err := artifact.Load(dir, a.ref)
	if err != nil {
		a.Problem = err.Error()
		return
	}
	a.Type, a.Version, a.CreatedAt = read.Meta.ArtifactType, read.Meta.Version, read.Meta.CreatedAt
	n := p.Find(a.Path)
	if a.Node == plan.RequiresStart || n == nil || n.Artifact == nil {
		a.Valid = true
		return
	}
	if err := read.CheckVersion(n.Artifact); err != nil {
		a.Faults = []event.Fault{{Path: "$._artifact_meta.version", Code: "VAL-003", Message: err.Error()}}
		return
	}
	faults, err := artifact.Faults(read.Data, n.Artifact)
	if err != nil {
		a.Problem = err.Error()
		return
	}
	a.Faults, a.Valid = artifact.FaultData(faults), len(faults) == 0
}

// artifactFold collects the artifacts that the events of a run name. A file is listed once, with its latest
// reference.
type artifactFold struct {
	run   string
	refs  []artifactRef
	index map[string]int // path of a file -> index into refs
}

// artifactRef is one artifact of a run: the output of the node at a location, or its input.
type artifactRef struct {
	location event.Location
	isInput  bool
	ref      event.Ref
}

// apply adds the artifacts that an entry names. Data that cannot be decoded names no artifact.
func (c *artifactFold) apply(e timeline.Entry) {
	switch e.RunID {
	case c.run:
	case "": // written by the Bash engine after the events of this engine
		return
	default:
		*c = artifactFold{run: e.RunID}
	}
	if e.Completed {
		c.addOutput(e.Location, e.Iteration.Result.Artifact)
	}
	if e.Type == event.InputChecked {
		if d, err := event.Decode[event.InputCheckedData](e.Event); err == nil {
			c.addOutput(e.Location, d.Artifact)
			if d.Input != nil {
				c.add(artifactRef{location: e.Location, isInput: true, ref: *d.Input})
			}
		}
	}
	if e.Type == event.ArtifactWritten {
		if d, err := event.Decode[event.ArtifactWrittenData](e.Event); err == nil && d.Name == event.Artifact {
			c.addOutput(e.Location, &d.Ref)
		}
	}
	if e.NodeEnd != nil {
		if ref, made := e.NodeEnd.Artifacts[event.Artifact]; made {
			c.addOutput(e.Location, &ref)
		}
	}
}

// addOutput adds an artifact made by the node at a location; nil adds nothing.
func (c *artifactFold) addOutput(at event.Location, ref *event.Ref) {
	if ref != nil {
		c.add(artifactRef{location: at, ref: *ref})
	}
}

func (c *artifactFold) add(n artifactRef) {
	if i, known := c.index[n.ref.Path]; known {
		c.refs[i].ref = n.ref
		return
	}
	if c.index == nil {
		c.index = map[string]int{}
	}
	c.index[n.ref.Path] = len(c.refs)
	c.refs = append(c.refs, n)
}

// list returns the artifacts named by events and state, validated, in the order of [Inspector.Artifacts].
func (c *artifactFold) list(dir *store.Dir, view View) []ArtifactInfo {
	var all artifactFold
	if view.State.Input != nil {
		all.add(artifactRef{isInput: true, ref: *view.State.Input})
	}
	for path, ref := range view.State.SuppliedArtifacts {
		all.addOutput(event.Location{Node: path}, &ref)
	}
	if c.run == view.State.RunID {
		for _, n := range c.refs {
			all.add(n)
		}
	}
	for path, n := range view.State.Nodes { // needed where the journal lacks the events
		if ref, made := n.Artifacts[event.Artifact]; made {
			all.addOutput(event.Location{Node: path, Visit: n.Visit}, &ref)
		}
	}
	var found []ArtifactInfo
	for _, n := range all.refs {
		if a, ok := n.info(view.Plan); ok {
			a.validate(dir, view.Plan)
			found = append(found, a)
		}
	}
	return sortArtifacts(found, view.Plan)
}

// info describes the artifact for a list; ok is false if the plan has no such node.
func (n artifactRef) info(p *plan.Plan) (a ArtifactInfo, ok bool) {
	a = ArtifactInfo{Node: plan.RequiresStart, Path: n.location.Node, Provider: n.location.Branch, Visit: n.location.Visit, ref: n.ref}
	if n.location.Run > 1 {
		a.Run = n.location.Run
	}
	if n.isInput {
		return a, true
	}
	node := p.Find(n.location.Node)
	if node == nil {
		return a, false
	}
	a.Node = node.ID
	return a, true
}

// sortArtifacts sorts artifacts in plan order and marks the newest of each node.
func sortArtifacts(found []ArtifactInfo, p *plan.Plan) []ArtifactInfo {
	order := map[string]int{"": -1}
	for n := range p.All() {
		order[n.Path] = len(order)
		for _, stage := range n.Stages {
			order[stage.Path] = len(order)
		}
	}
	slices.SortStableFunc(found, func(a, b ArtifactInfo) int {
		return cmp.Or(cmp.Compare(order[a.Path], order[b.Path]), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Provider, b.Provider),
			cmp.Compare(a.Run, b.Run), cmp.Compare(a.Visit, b.Visit))
	})
	for i := range found {
		a := &found[i]
		a.Latest = i+1 == len(found) || found[i+1].Path != a.Path || found[i+1].Node != a.Node || found[i+1].Provider != a.Provider
	}
	return found
}
