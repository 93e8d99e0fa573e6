package ground

import (
	"context"
	"fmt"
	"slices"
	"strconv"
)

// CrowdProcess is a process with many waiting sessions in one engine. The caller closes it.
type CrowdProcess struct{ *heldProgram }

// StartCrowd starts sessions of the pipeline in one process with the mock plugin. It waits until all are in their
// second iteration, in which w makes the mock hang, and returns the process IDs of the mock plugins.
func (p *Project) StartCrowd(ctx context.Context, sessions int, w *Watch) (c *CrowdProcess, plugins []int, err error) {
	h, err := p.ground.hold(ctx, w.Environment, p.ground.Program("crowd"), "-dir", p.Dir, "-sessions", strconv.Itoa(sessions), "-plugins", p.ground.Plugins)
	if err != nil {
		return nil, nil, err
	}
	if plugins, err = w.awaitCalls(sessions); err != nil {
		return nil, nil, fmt.Errorf("start %d sessions: %w", sessions, h.kill(err))
	}
	return &CrowdProcess{h}, plugins, nil
}

// awaitCalls waits until calls hang in the second iteration, and returns the process IDs of the mock plugins.
func (w *Watch) awaitCalls(calls int) (plugins []int, err error) {
	for hanging := 0; hanging < calls; {
		call, err := w.Next()
		if err != nil {
			return nil, err
		}
		if call.Iteration == crowdIteration {
			hanging++
		}
		if !slices.Contains(plugins, call.PID) {
			plugins = append(plugins, call.PID)
		}
	}
	return plugins, nil
}

// crowdIteration is the iteration in which a crowd waits.
const crowdIteration = 2

// WatchCrowd returns a watch for [Project.StartCrowd].
func (g *Ground) WatchCrowd() (*Watch, error) { return g.Watch(crowdIteration) }
