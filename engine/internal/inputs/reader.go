package inputs

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Reader gathers the inputs of one session. It caches the outputs that it has found, so that the cost of an iteration
// does not grow with their number. It is safe for concurrent use.
type Reader struct {
	dir  *store.Dir
	plan *plan.Plan

	mu    sync.Mutex // guards nodes
	nodes map[store.Node]*outputs
}

// outputs are the outputs of a node's completed iterations.
type outputs struct {
	paths []string // absolute; append-only
	upTo  []int    // number of paths after each iteration, by its number; later iterations are not read yet
}

// NewReader returns a reader for the session in dir, whose plan is p.
func NewReader(dir *store.Dir, p *plan.Plan) *Reader {
	return &Reader{dir: dir, plan: p, nodes: map[store.Node]*outputs{}}
}

// Outputs returns the absolute paths of the outputs of the completed iterations 1 to last at a location, in order;
// never nil. The caller must not change them. Outputs checks each iteration's output once, by name, and lists no
// directory.
func (r *Reader) Outputs(at event.Location, last int) ([]string, error) {
	node, err := store.NodeAt(r.plan, at)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o, known := r.nodes[node]
	if !known {
		o = &outputs{paths: []string{}, upTo: make([]int, 1)}
		r.nodes[node] = o
	}
	for next := len(o.upTo); next <= last; next++ {
		if err := r.addOutput(o, node.Iteration(next).Output()); err != nil {
			return nil, err
		}
	}
	n := o.upTo[max(0, last)]
	return o.paths[:n:n], nil
}

// addOutput adds the output of the next iteration, if it has one.
func (r *Reader) addOutput(o *outputs, name string) error {
	switch _, err := r.dir.Stat(name); {
	case err == nil:
		o.paths = append(o.paths, r.dir.Abs(name))
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("find %s: %w", name, err)
	}
	o.upTo = append(o.upTo, len(o.paths))
	return nil
}
