package inputs

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/rundir"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Reader gathers the inputs of one session. It remembers which outputs it has found, so that the cost of
// an iteration does not grow with those before it. It is safe for concurrent use.
type Reader struct {
	dir  *rundir.Dir
	plan *plan.Plan

	mu    sync.Mutex // guards:
	nodes map[rundir.Node]*outputs
}

// outputs are those of a node's completed iterations.
type outputs struct {
	looked int      // iterations 1 to looked were looked for
	paths  []string // absolute, of those with an output; only appended to
	upTo   []int    // by iteration, from 1: how many paths there are up to it
}

// NewReader reads the session of dir, which follows the plan.
func NewReader(dir *rundir.Dir, p *plan.Plan) *Reader {
	return &Reader{dir: dir, plan: p, nodes: map[rundir.Node]*outputs{}}
}

// Outputs are the absolute paths of the outputs of a place's iterations 1 to last, which are complete,
// in order; never nil. The caller does not change them.
func (r *Reader) Outputs(at event.Place, last int) ([]string, error) {
	node, err := rundir.At(r.plan, at)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o, known := r.nodes[node]
	if !known {
		o = &outputs{paths: []string{}, upTo: []int{0}}
		r.nodes[node] = o
	}
	for o.looked < last {
		if err := r.look(o, node.Iteration(o.looked+1).Output()); err != nil {
			return nil, err
		}
	}
	n := o.upTo[max(0, last)]
	return o.paths[:n:n], nil
}

// look takes up the output of the next iteration, if it said anything.
func (r *Reader) look(o *outputs, name string) error {
	switch _, err := r.dir.Stat(name); {
	case err == nil:
		o.paths = append(o.paths, r.dir.Abs(name))
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look for %s: %w", name, err)
	}
	o.looked++
	o.upTo = append(o.upTo, len(o.paths))
	return nil
}
