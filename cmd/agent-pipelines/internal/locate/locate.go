package locate

import (
	"fmt"
	"maps"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Locator follows the events of a session. It is used from one goroutine.
type Locator struct {
	names  map[string]string // ids of nodes by path
	visits map[string]int    // by path, in this run of the pipeline
	epoch  int
}

// New returns a locator for a session whose nodes have the ids, by their paths. Others are learned from the events.
func New(names map[string]string) *Locator {
	l := &Locator{names: map[string]string{}, visits: map[string]int{}}
	maps.Copy(l.names, names)
	return l
}

// Take takes the next event and reports whether it counts: what a kernel wrote that was overtaken does not.
func (l *Locator) Take(e event.Event) bool {
	if e.Epoch != 0 && e.Epoch < l.epoch {
		return false
	}
	l.epoch = max(l.epoch, e.Epoch)
	switch e.Type {
	case event.SessionStart, event.RunStart:
		clear(l.visits)
	case event.NodeRunStart:
		l.anew(e)
	case event.NodeStart:
		l.enter(e)
	}
	return true
}

// anew begins a run of a nested pipeline, whose number tells what its nodes do from what they did: their visits begin anew. One
// inside another counts no runs of its own.
func (l *Locator) anew(e event.Event) {
	if e.Cursor == nil || strings.Contains(e.Cursor.NodePath, ".") {
		return
	}
	maps.DeleteFunc(l.visits, func(path string, _ int) bool { return strings.HasPrefix(path, e.Cursor.NodePath+".") })
}

// enter takes up a new visit of a node, and what the node and those of its block are called.
func (l *Locator) enter(e event.Event) {
	if e.Cursor == nil {
		return
	}
	path := e.Cursor.NodePath
	if d, err := event.Decode[event.NodeStartData](e); err == nil && d.Name != "" {
		l.names[path] = d.Name
	}
	if d, err := event.Decode[event.BlockStartData](e); err == nil {
		for i, id := range d.Stages {
			l.names[fmt.Sprintf("%s.%d", path, i)] = id
		}
	}
	l.visits[path]++
}

// Place is where an event happened that was taken last. Visit and Run are 1 where nothing is said of them; the zero Place is
// that of the session as a whole.
func (l *Locator) Place(e event.Event) event.Location {
	if _, at, _, ok := e.Key.Parse(); ok {
		return at
	}
	c := e.Cursor
	if c == nil {
		return event.Location{}
	}
	return event.Location{
		Node: c.NodePath, Visit: max(c.Visit, l.visits[c.NodePath], 1), Run: max(c.Run, 1), Branch: c.Provider, Step: c.Step, Iteration: c.Iteration,
	}
}

// Name is the id of the node at a path, or the path where the id is not known; "" for the session as a whole.
func (l *Locator) Name(path string) string {
	if id := l.names[path]; id != "" || path == "" {
		return id
	}
	return "node " + path
}
