package ground

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Project is a folder with one pipeline, named bench.
type Project struct {
	Dir    string
	ground *Ground
}

// Loop is the text of a pipeline of one stage that runs so many iterations.
func Loop(provider string, runs int) string {
	return fmt.Sprintf("name: bench\nnodes:\n  - {id: work, prompt: \"Do ${ITERATION}, see ${CTX}.\", provider: %s, runs: %d}\n", provider, runs)
}

// Stages is the text of a pipeline of so many stages of one iteration, each with the output of the one
// before as its input.
func Stages(provider string, stages int) string {
	var b strings.Builder
	b.WriteString("name: bench\nnodes:\n")
	for i := range stages {
		fmt.Fprintf(&b, "  - {id: s%d, prompt: \"Do it, see ${CTX}.\", provider: %s, runs: 1", i+1, provider)
		if i > 0 {
			fmt.Fprintf(&b, ", inputs: {from: s%d}", i)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// Told is the text of a pipeline of one stage that runs so many iterations, whose agent is told all there is, within
// a budget that is too small for it.
func Told(provider string, runs int) string {
	return fmt.Sprintf(`name: bench
inputs: [request.md]
policy: {budget: {total: 60000, shares: {work: 50}}}
nodes:
  - {id: work, prompt: "Do it, see ${CTX}.", provider: %s, runs: %d, policy: {context: full}}
`, provider, runs)
}

// Cycle is the text of a pipeline of two stages, of which the second one sends the first one back so many times as long
// as it fails.
func Cycle(provider string, returns int) string {
	return fmt.Sprintf(`name: bench
nodes:
  - {id: work, prompt: "Do it, see ${CTX}.", provider: %[1]s, runs: 1}
  - id: judge
    prompt: "Judge it, see ${CTX}."
    provider: %[1]s
    runs: 1
    transitions: {success: done, fail: {to: work, limit: %[2]d}}
`, provider, returns)
}

// Steps is the text of a pipeline whose second stage works through the steps that the first one writes.
func Steps(planner, provider string) string {
	return fmt.Sprintf(`name: bench
nodes:
  - {id: plan, prompt: "Plan ${ARTIFACT}.", provider: %s, artifact: {type: plan}}
  - id: work
    prompt: "Do ${STEP}."
    provider: %s
    steps: {from: plan, path: "steps[*]", id: id}
`, planner, provider)
}

// Block is the text of a pipeline of one block, in which so many providers run one iteration side by side.
func Block(provider string, providers int) string {
	return "name: bench\n" + block(provider, providers, 1)
}

// Ceiling is the text of a pipeline of one block, in which so many providers run four iterations each under one ceiling of
// dollars. reserve is what an attempt is said to take, 0 where nothing is said.
func Ceiling(provider string, providers int, dollars, reserve float64) string {
	said := ""
	if reserve > 0 {
		said = fmt.Sprintf(", reserve_usd: %g", reserve)
	}
	return fmt.Sprintf("name: bench\npolicy: {cost: {max_usd: %g%s}}\n", dollars, said) + block(provider, providers, 4)
}

func block(provider string, providers, runs int) string {
	var b strings.Builder
	b.WriteString("nodes:\n  - id: both\n    parallel:\n      providers:\n")
	for i := range providers {
		fmt.Fprintf(&b, "        - {name: %s, as: p%d}\n", provider, i+1)
	}
	fmt.Fprintf(&b, "      stages: [{id: work, prompt: \"Do it, see ${CTX}.\", runs: %d}]\n", runs)
	return b.String()
}

// Project makes a project with the pipeline.
func (g *Ground) Project(pipeline string) (*Project, error) {
	dir, err := g.Dir("project")
	if err != nil {
		return nil, err
	}
	pipelines := filepath.Join(dir, ".claude", "pipelines")
	if err := os.MkdirAll(pipelines, 0o750); err != nil {
		return nil, err
	}
	return &Project{dir, g}, os.WriteFile(filepath.Join(pipelines, "bench.yaml"), []byte(pipeline), 0o600)
}

// Session is the directory of a session.
func (p *Project) Session(name string) string {
	return filepath.Join(p.Dir, ".claude", "pipeline-runs", name)
}

// Run is one run of the command. The caller calls Wait or Kill.
type Run struct {
	// Started is the moment before the process was made.
	Started time.Time
	// PID is the kernel's process.
	PID int

	command *exec.Cmd
	said    *bytes.Buffer
}

// Start starts a session of the pipeline by the real command, with additions to its environment.
func (p *Project) Start(ctx context.Context, session string, environment ...string) (*Run, error) {
	return p.launch(ctx, environment, "pipeline", "bench", session, "--foreground")
}

// Resume lets the real command go on with a session.
func (p *Project) Resume(ctx context.Context, session string, environment ...string) (*Run, error) {
	return p.launch(ctx, environment, "resume", session)
}

func (p *Project) launch(ctx context.Context, environment []string, args ...string) (*Run, error) {
	c := exec.CommandContext(ctx, p.ground.Command, append(args, "--plugin-dir", p.ground.Plugins)...)
	c.WaitDelay = patience // should a process that was left behind hold the output
	var said bytes.Buffer
	c.Dir, c.Env, c.Stdout, c.Stderr = p.Dir, append(p.ground.environment(), environment...), &said, &said
	r := &Run{Started: time.Now(), command: c, said: &said}
	if err := c.Start(); err != nil {
		return nil, err
	}
	r.PID = c.Process.Pid
	return r, nil
}

// Wait waits for the run's success. What the command said is part of the error.
func (r *Run) Wait() error {
	if err := r.command.Wait(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(r.command.Args, " "), err, r.said)
	}
	return nil
}

// CPU is what the command and its plugins computed in all, in seconds. Wait has returned.
func (r *Run) CPU() float64 {
	s := r.command.ProcessState
	return (s.UserTime() + s.SystemTime()).Seconds()
}

// Kill ends the kernel, whose plugins end with it.
func (r *Run) Kill() {
	_ = r.command.Process.Kill() // it may have ended
	_ = r.command.Wait()         // that it was killed is known
}

// Run runs a session to its end.
func (p *Project) Run(ctx context.Context, session string, environment ...string) error {
	r, err := p.Start(ctx, session, environment...)
	if err != nil {
		return err
	}
	return r.Wait()
}

// Journal reads the events of a session.
func (p *Project) Journal(session string) ([]event.Event, error) {
	lines, err := Lines(p.Session(session))
	if err != nil {
		return nil, err
	}
	events := make([]event.Event, len(lines))
	for i, line := range lines {
		if events[i], err = event.ParseLine(line); err != nil {
			return nil, fmt.Errorf("line %d of the journal of %s: %w", i+1, session, err)
		}
	}
	return events, nil
}

// Lines are the lines of the journal in a session's directory, without their newlines.
func Lines(session string) ([][]byte, error) {
	text, err := os.ReadFile(filepath.Join(session, "events.jsonl"))
	if err != nil {
		return nil, err
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'}), nil
}

// Iterations are the times in seconds from the start of one iteration to the start of the next, of
// iteration 1, 2, …; the last iteration has none.
func Iterations(events []event.Event) []float64 {
	var times []float64
	var last time.Time
	for _, e := range events {
		if e.Type != event.IterationStart {
			continue
		}
		if !last.IsZero() {
			times = append(times, e.Time.Sub(last).Seconds())
		}
		last = e.Time
	}
	return times
}
