package floor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Trace is the data that a session of one stage wrote, in order.
type Trace struct {
	// Prefix is the journal before the first iteration.
	Prefix []byte
	// Iterations are in order. The last one's journal extends to the end of the session.
	Iterations []Iteration
	// Request is about as long as a request to the agent.
	Request []byte

	stage string // path of the stage's directory, relative to the session's
}

// Iteration is the data that one iteration wrote. Files are whole contents.
type Iteration struct {
	// Start is the commit that begins the iteration, Complete the commit that ends it. After holds the commits up to
	// the next iteration. Each commit is one write and one fdatasync.
	Start, Complete []byte
	After           [][]byte

	// Context, Output, Copy and Result are the iteration's files, Attempts the lines of
	// attempts.jsonl.
	Context, Output, Copy, Result []byte
	Attempts                      [][]byte
	// StateBefore and StateAfter are as long as state.json after Start and after Complete. Only the last StateAfter is
	// a whole document.
	StateBefore, StateAfter []byte
}

// Load reads the session in a directory.
func Load(session string) (*Trace, error) {
	t := &Trace{stage: "stage-00-work"}
	if err := t.loadJournal(session); err != nil {
		return nil, err
	}
	for i := range t.Iterations {
		if err := t.loadFiles(session, i); err != nil {
			return nil, err
		}
	}
	if err := t.loadState(session); err != nil {
		return nil, err
	}
	t.Request = t.Iterations[0].Context // about as long as prompt, paths and environment
	return t, nil
}

// loadJournal splits the journal into commits. An informational event belongs to the next commit.
func (t *Trace) loadJournal(session string) error {
	lines, err := ground.Lines(session)
	if err != nil {
		return err
	}
	var commit []byte
	for n, line := range lines {
		e, err := event.ParseLine(line)
		if err != nil {
			return fmt.Errorf("line %d of the journal in %s: %w", n+1, session, err)
		}
		commit = append(append(commit, line...), '\n')
		if !e.Informative() {
			t.commit(e.Type, commit)
			commit = nil
		}
	}
	if len(t.Iterations) == 0 {
		return fmt.Errorf("the session in %s has no iteration", session)
	}
	last := &t.Iterations[len(t.Iterations)-1]
	if len(commit) > 0 {
		last.After = append(last.After, commit)
	}
	return nil
}

func (t *Trace) commit(kind event.Type, text []byte) {
	if kind == event.IterationStart {
		t.Iterations = append(t.Iterations, Iteration{Start: text})
		return
	}
	if len(t.Iterations) == 0 {
		t.Prefix = append(t.Prefix, text...)
		return
	}
	it := &t.Iterations[len(t.Iterations)-1]
	if kind == event.IterationComplete {
		it.Complete = text
		return
	}
	it.After = append(it.After, text)
}

func (t *Trace) loadFiles(session string, i int) (err error) {
	it, stage := &t.Iterations[i], filepath.Join(session, t.stage)
	dir := filepath.Join(stage, iterationDir(i))
	var attempts []byte
	for name, to := range map[string]*[]byte{
		filepath.Join(dir, "context.json"): &it.Context, filepath.Join(dir, "output.md"): &it.Output,
		filepath.Join(dir, "result.json"): &it.Result, filepath.Join(dir, "attempts.jsonl"): &attempts,
		filepath.Join(stage, copyName(i)): &it.Copy,
	} {
		if *to, err = os.ReadFile(name); err != nil {
			return err
		}
	}
	it.Attempts = slices.Collect(bytes.Lines(attempts))
	if len(it.Attempts) == 0 {
		return fmt.Errorf("attempts.jsonl in %s is empty", dir)
	}
	return nil
}

// loadState derives the states of all iterations from state.json, whose history has all of them. It cuts off as many
// bytes as the later entries have, because only the length of an earlier state matters.
func (t *Trace) loadState(session string) error {
	text, err := os.ReadFile(filepath.Join(session, "state.json"))
	if err != nil {
		return err
	}
	var document struct {
		History []json.RawMessage `json:"history"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return fmt.Errorf("read state.json in %s: %w", session, err)
	}
	if len(document.History) != len(t.Iterations) {
		return fmt.Errorf("state.json in %s has %d iterations, the journal %d", session, len(document.History), len(t.Iterations))
	}
	for i := len(t.Iterations) - 1; i >= 0; i-- {
		t.Iterations[i].StateAfter = text
		text = text[:len(text)-len(document.History[i])]
		t.Iterations[i].StateBefore = text
	}
	return nil
}

// iterationDir returns the directory of iteration i, relative to the stage's. i counts from 0.
func iterationDir(i int) string { return fmt.Sprintf("iterations/%03d", i+1) }

// copyName returns the name of the stage's copy of the output of iteration i. i counts from 0.
func copyName(i int) string { return fmt.Sprintf("run-%d.md", i) }
