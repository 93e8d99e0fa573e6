package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// ArtifactInfo is one version of the artifact of a node, in the newest run of a session.
type ArtifactInfo struct {
	// Node is the node's id, "$input" for what the run, or an embedded pipeline, was started with; Path is the node's
	// place in the plan ("0", "2.1"), for $input that of the node that embeds the pipeline, "" for the run.
	Node     string `json:"node"`
	Path     string `json:"path"`
	Provider string `json:"provider,omitempty"` // of a parallel block
	// Type and Version are those of its envelope.
	Type    string `json:"type"`
	Version string `json:"version"`
	// Visit is that of the node which made it, 0 where the run was given it. Run is that of the pipeline, where it is not
	// the first.
	Visit int `json:"visit"`
	Run   int `json:"run,omitempty"`
	// Newest: the node has no newer one.
	Newest bool `json:"newest"`
	// Valid: it is what the node's contract says, or there is none. Faults are what keeps it from that.
	Valid  bool          `json:"valid"`
	Faults []event.Fault `json:"faults,omitempty"`
	// Problem is why the file cannot be read, "" if it can.
	Problem   string    `json:"problem,omitempty"`
	File      string    `json:"file"` // absolute
	Size      int64     `json:"size"` // in bytes
	SHA256    string    `json:"sha256,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`

	ref event.Ref
}

// ArtifactContent is an artifact with what it says.
type ArtifactContent struct {
	ArtifactInfo
	Data map[string]any `json:"data"` // without the envelope
	Text []byte         `json:"-"`    // the file: YAML with the envelope
}

// Artifacts lists the artifacts of a session's newest run: those that it was given first, then in the order of the plan,
// each node's from its first visit to its newest. It takes no lock and changes nothing; of a running session it is what
// is done so far. It fails as [Engine.History] does.
func (e *Engine) Artifacts(session string) ([]ArtifactInfo, error) {
	var named collection
	dir, k, err := e.look(session, func(*plan.Plan) func(event.Event) { return named.take })
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if !k.began() {
		return nil, neverBegan(session)
	}
	return named.artifacts(dir, k), nil
}

// ReadArtifact reads an artifact of a list that [Engine.Artifacts] has made of the session. The error is of kind
// state_corrupt if the file is not what the session recorded.
func (e *Engine) ReadArtifact(session string, a ArtifactInfo) (*ArtifactContent, error) {
	dir, err := e.open(session)
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

// look reads an artifact and holds it against the contract of its node.
func (a *ArtifactInfo) look(dir *store.Dir, p *plan.Plan) {
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
	if err := read.Of(n.Artifact); err != nil {
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

// collection gathers the artifacts that the events of a run name. A file that is named again is in it once, as it was named
// last.
type collection struct {
	run    string
	named  []naming
	places map[string]int // in named, by the file
}

// naming is an artifact as it was named: of the node at a place, or given to it.
type naming struct {
	at    event.Location
	given bool
	ref   event.Ref
}

// take adds the artifacts that an event names. Data that cannot be read names none.
func (c *collection) take(ev event.Event) {
	switch ev.RunID {
	case c.run:
	case "": // of the Bash engine, after ours
		return
	default:
		*c = collection{run: ev.RunID}
	}
	switch ev.Type {
	case event.IterationComplete:
		if d, err := event.Decode[event.IterationCompleteData](ev); err == nil {
			c.made(placeOf(ev), d.Artifact)
		}
	case event.InputChecked:
		if d, err := event.Decode[event.InputCheckedData](ev); err == nil {
			c.made(placeOf(ev), d.Artifact)
			if d.Input != nil {
				c.add(naming{at: placeOf(ev), given: true, ref: *d.Input})
			}
		}
	case event.ArtifactWritten:
		if d, err := event.Decode[event.ArtifactWrittenData](ev); err == nil && d.Name == event.Artifact {
			c.made(placeOf(ev), &d.Ref)
		}
	case event.NodeComplete:
		if d, err := event.Decode[event.NodeCompleteData](ev); err == nil {
			if ref, made := d.Artifacts[event.Artifact]; made {
				c.made(placeOf(ev), &ref)
			}
		}
	}
}

// made adds what the node at a place made, nil for nothing.
func (c *collection) made(at event.Location, ref *event.Ref) {
	if ref != nil {
		c.add(naming{at: at, ref: *ref})
	}
}

func (c *collection) add(n naming) {
	if i, named := c.places[n.ref.Path]; named {
		c.named[i].ref = n.ref
		return
	}
	if c.places == nil {
		c.places = map[string]int{}
	}
	c.places[n.ref.Path] = len(c.named)
	c.named = append(c.named, n)
}

// artifacts are all that events and state name, looked at, in the order of [Engine.Artifacts].
func (c *collection) artifacts(dir *store.Dir, k known) []ArtifactInfo {
	var all collection
	if k.state.Input != nil {
		all.add(naming{given: true, ref: *k.state.Input})
	}
	for path, ref := range k.state.Given {
		all.made(event.Location{Node: path}, &ref)
	}
	if c.run == k.state.RunID {
		for _, n := range c.named {
			all.add(n)
		}
	}
	for path, n := range k.state.Nodes { // of a session whose journal does not tell
		if ref, made := n.Artifacts[event.Artifact]; made {
			all.made(event.Location{Node: path, Visit: n.Visit}, &ref)
		}
	}
	var found []ArtifactInfo
	for _, n := range all.named {
		if a, ok := n.info(k.plan); ok {
			a.look(dir, k.plan)
			found = append(found, a)
		}
	}
	return sorted(found, k.plan)
}

// info is the artifact in a list; ok is false where the plan knows no such node.
func (n naming) info(p *plan.Plan) (a ArtifactInfo, ok bool) {
	a = ArtifactInfo{Node: plan.RequiresStart, Path: n.at.Node, Provider: n.at.Branch, Visit: n.at.Visit, ref: n.ref}
	if n.at.Run > 1 {
		a.Run = n.at.Run
	}
	if n.given {
		return a, true
	}
	node := p.Find(n.at.Node)
	if node == nil {
		return a, false
	}
	a.Node = node.ID
	return a, true
}

// placeOf is where an event happened: as its key says, or its cursor.
func placeOf(ev event.Event) event.Location {
	if _, at, _, ok := ev.Key.Parse(); ok {
		return at
	}
	if ev.Cursor == nil {
		return event.Location{}
	}
	return event.Location{Node: ev.Cursor.NodePath, Visit: max(ev.Cursor.Visit, 1), Run: ev.Cursor.Run, Branch: ev.Cursor.Provider}
}

// sorted are artifacts in the order of a plan, with the newest of each node marked.
func sorted(found []ArtifactInfo, p *plan.Plan) []ArtifactInfo {
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
		a.Newest = i+1 == len(found) || found[i+1].Path != a.Path || found[i+1].Node != a.Node || found[i+1].Provider != a.Provider
	}
	return found
}
