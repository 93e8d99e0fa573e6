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

// Reader gathers the inputs of one session. It remembers which outputs it has found, so that the cost of
// an iteration does not grow with those before it. It is safe for concurrent use.
type Reader struct {
	dir  *store.Dir
	plan *plan.Plan

	mu    sync.Mutex // guards:
	nodes map[store.Node]*outputs
}

// outputs are those of a node's completed iterations.
type outputs struct {
	list List  // of those with an output; only added to
	upTo []end // by iteration, from 1: where the outputs up to it end; iterations beyond were not looked for
}

// NewReader reads the session of dir, which follows the plan.
func NewReader(dir *store.Dir, p *plan.Plan) *Reader {
	return &Reader{dir: dir, plan: p, nodes: map[store.Node]*outputs{}}
}

// Outputs are the absolute paths of the outputs of a place's iterations 1 to last, which are complete,
// in order; never nil. The caller does not change them.
func (r *Reader) Outputs(at event.Location, last int) ([]string, error) {
	l, err := r.list(at, last)
	if l.paths == nil {
		l.paths = []string{}
	}
	return l.paths, err
}

// list is what Outputs says, with its text. It looks for the output of each iteration once, by name:
// no directory is ever listed.
func (r *Reader) list(at event.Location, last int) (List, error) {
	node, err := store.At(r.plan, at)
	if err != nil {
		return List{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o, known := r.nodes[node]
	if !known {
		o = &outputs{upTo: make([]end, 1)}
		r.nodes[node] = o
	}
	for next := len(o.upTo); next <= last; next++ {
		if err := r.look(o, node.Iteration(next).Output()); err != nil {
			return List{}, err
		}
	}
	return o.list.upTo(o.upTo[max(0, last)]), nil
}

// look takes up the output of the next iteration, if it said anything.
func (r *Reader) look(o *outputs, name string) error {
	switch _, err := r.dir.Stat(name); {
	case err == nil:
		o.list.add(r.dir.Abs(name))
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look for %s: %w", name, err)
	}
	o.upTo = append(o.upTo, o.list.end())
	return nil
}
