package ground

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// CrowdProcess is a process with many waiting sessions in one engine. The caller closes it.
type CrowdProcess struct {
	*heldProgram
	// Goroutines is the number of the process's goroutines.
	Goroutines int
}

// StartCrowd starts sessions of the pipeline in one process with agents of that process. It waits
// until all are in their second iteration, which does not end, and until the process has released
// unused memory, which would distort the result.
func (p *Project) StartCrowd(ctx context.Context, sessions int) (*CrowdProcess, error) {
	return p.startCrowd(ctx, sessions, nil, nil, "-settle")
}

// StartWatchedCrowd is StartCrowd with the mock plugin, which hangs in that iteration by w. It
// returns the processes of the mock.
func (p *Project) StartWatchedCrowd(ctx context.Context, sessions int, w *Watch) (c *CrowdProcess, plugins []int, err error) {
	found := map[int]bool{}
	c, err = p.startCrowd(ctx, sessions, w.Environment, func() error {
		for hanging := 0; hanging < sessions; {
			call, err := w.Next()
			if err != nil {
				return err
			}
			if call.Iteration == crowdIteration {
				hanging++
			}
			if !found[call.PID] {
				found[call.PID] = true
				plugins = append(plugins, call.PID)
			}
		}
		return nil
	}, "-plugins", p.ground.Plugins)
	return c, plugins, err
}

// StartFloor starts a process with a goroutine per session that holds an open file and a small
// state.
func (p *Project) StartFloor(ctx context.Context, sessions int) (*CrowdProcess, error) {
	return p.startCrowd(ctx, sessions, nil, nil, "-settle", "-floor")
}

// crowdIteration is the iteration in which a crowd waits.
const crowdIteration = 2

// WatchCrowd returns a watch for [Project.StartWatchedCrowd].
func (g *Ground) WatchCrowd() (*Watch, error) { return g.Watch(crowdIteration) }

// startCrowd starts the program, calls meanwhile, and waits until the program is ready.
func (p *Project) startCrowd(ctx context.Context, sessions int, environment []string, meanwhile func() error, args ...string) (*CrowdProcess, error) {
	args = append([]string{p.ground.Crowd, "-dir", p.Dir, "-sessions", strconv.Itoa(sessions)}, args...)
	h, err := p.ground.hold(ctx, environment, args...)
	if err != nil {
		return nil, err
	}
	var output string
	if meanwhile != nil {
		err = meanwhile()
	}
	if err == nil {
		output, err = h.ready()
	}
	var ready struct {
		Goroutines int `json:"goroutines"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(output), &ready)
	}
	if err != nil {
		return nil, fmt.Errorf("start %d sessions: %w", sessions, h.kill(err))
	}
	return &CrowdProcess{h, ready.Goroutines}, nil
}
