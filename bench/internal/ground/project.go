package ground

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/cost"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Project is a directory with one pipeline, named bench.
type Project struct {
	Dir      string
	ground   *Ground
	sessions int // the number of names that NewSession returned
}

// NewSession returns the name of a session that the project does not have.
func (p *Project) NewSession() string {
	p.sessions++
	return fmt.Sprintf("s%d", p.sessions)
}

// Loop returns a pipeline of one stage with a number of iterations.
func Loop(provider string, runs int) string {
	return fmt.Sprintf("name: bench\nnodes:\n  - {id: work, prompt: \"Do ${ITERATION}, see ${CTX}.\", provider: %s, runs: %d}\n", provider, runs)
}

// Stages returns a pipeline of stages with one iteration each and the output of the previous stage
// as input.
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

// FullContext returns a pipeline of one stage with a number of iterations and context strategy full. Its token budget
// is too small for the whole context.
func FullContext(provider string, runs int) string {
	return fmt.Sprintf(`name: bench
inputs: [request.md]
policy: {budget: {total: 60000, shares: {work: 50}}}
nodes:
  - {id: work, prompt: "Do it, see ${CTX}.", provider: %s, runs: %d, policy: {context: full}}
`, provider, runs)
}

// Steps returns a pipeline whose second stage runs the steps of the first one's plan.
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

// Block returns a pipeline of one parallel block, in which each provider runs one iteration.
func Block(provider string, providers int) string {
	var b strings.Builder
	b.WriteString("name: bench\nnodes:\n  - id: both\n    parallel:\n      providers:\n")
	for i := range providers {
		fmt.Fprintf(&b, "        - {name: %s, as: p%d}\n", provider, i+1)
	}
	b.WriteString("      stages: [{id: work, prompt: \"Do it, see ${CTX}.\", runs: 1}]\n")
	return b.String()
}

// Project creates a project with the pipeline.
func (g *Ground) Project(pipeline string) (*Project, error) {
	dir, err := g.Dir("project")
	if err != nil {
		return nil, err
	}
	pipelines := filepath.Join(dir, ".claude", "pipelines")
	if err := os.MkdirAll(pipelines, 0o750); err != nil {
		return nil, err
	}
	return &Project{Dir: dir, ground: g}, os.WriteFile(filepath.Join(pipelines, "bench.yaml"), []byte(pipeline), 0o600)
}

// Session returns the directory of a session.
func (p *Project) Session(name string) string {
	return filepath.Join(p.Dir, ".claude", "pipeline-runs", name)
}

// Run is a run of the command. The caller calls Wait or Kill.
type Run struct {
	// Started is the time before the process was started.
	Started time.Time
	// PID is the process ID of the kernel.
	PID int

	command *exec.Cmd
	output  *bytes.Buffer
}

// Start starts a session of the pipeline with the real command and additional environment variables, each as
// NAME=VALUE.
func (p *Project) Start(ctx context.Context, session string, environment ...string) (*Run, error) {
	return p.StartWith(ctx, nil, session, environment...)
}

// StartWith is Start with additional flags of the command.
func (p *Project) StartWith(ctx context.Context, flags []string, session string, environment ...string) (*Run, error) {
	return p.launch(ctx, environment, append([]string{"pipeline", "bench", session, "--foreground"}, flags...)...)
}

// Resume resumes a session with the real command.
func (p *Project) Resume(ctx context.Context, session string, environment ...string) (*Run, error) {
	return p.launch(ctx, environment, "resume", session)
}

func (p *Project) launch(ctx context.Context, environment []string, args ...string) (*Run, error) {
	c := exec.CommandContext(ctx, p.ground.Command, append(args, "--plugin-dir", p.ground.Plugins)...)
	c.WaitDelay = patience // in case a process left running holds the output
	var output bytes.Buffer
	c.Dir, c.Env, c.Stdout, c.Stderr = p.Dir, append(p.ground.environment(), environment...), &output, &output
	r := &Run{Started: time.Now(), command: c, output: &output}
	if err := c.Start(); err != nil {
		return nil, err
	}
	r.PID = c.Process.Pid
	return r, nil
}

// Wait waits for the run and returns an error with the command's output unless it succeeds.
func (r *Run) Wait() error {
	if err := r.command.Wait(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(r.command.Args, " "), err, r.output)
	}
	return nil
}

// CPU returns the processor time of the command and of the children that it waited for, in seconds. Call it after Wait
// or Kill.
func (r *Run) CPU() float64 {
	s := r.command.ProcessState
	return (s.UserTime() + s.SystemTime()).Seconds()
}

// Kill kills the kernel, whose plugins end with it.
func (r *Run) Kill() {
	_ = r.command.Process.Kill() // the process may have ended
	_ = r.command.Wait()         // the error is that of the kill
}

// Run runs a session to its end.
func (p *Project) Run(ctx context.Context, session string, environment ...string) error {
	r, err := p.Start(ctx, session, environment...)
	if err != nil {
		return err
	}
	return r.Wait()
}

// Journal returns the events of a session.
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

// Lines returns the lines of a session's journal without newlines.
func Lines(session string) ([][]byte, error) {
	text, err := os.ReadFile(filepath.Join(session, "events.jsonl"))
	if err != nil {
		return nil, err
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'}), nil
}

// Iterations returns the seconds from the start of each iteration to the start of the next. The
// last iteration has no value.
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

// Status runs the status command on a session and returns its cost.
func (p *Project) Status(ctx context.Context, session string) (cost.Cost, error) {
	return p.ground.account(ctx, p.Dir, p.ground.Command, "status", session, "--plugin-dir", p.ground.Plugins)
}

// Accept accepts the journal of a session as it is.
func (p *Project) Accept(ctx context.Context, session string) error {
	_, err := p.ground.account(ctx, p.Dir, p.ground.Command, "session", "verify", session, "--accept", "--plugin-dir", p.ground.Plugins)
	return err
}

// ReadLines runs a small program that reads a file line by line and returns the program's cost.
func (g *Ground) ReadLines(ctx context.Context, file string) (cost.Cost, error) {
	return g.account(ctx, g.dir, g.Program("lines"), file)
}

// account runs a program to its end and returns its cost.
func (g *Ground) account(ctx context.Context, dir string, args ...string) (cost.Cost, error) {
	c := exec.CommandContext(ctx, g.Program("account"), args...)
	var output, complaints bytes.Buffer
	c.Dir, c.Env, c.Stdout, c.Stderr = dir, g.environment(), &output, &complaints
	var took cost.Cost
	if err := c.Run(); err != nil {
		return took, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, &complaints)
	}
	err := json.Unmarshal(output.Bytes(), &took)
	return took, err
}
