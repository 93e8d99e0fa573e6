package floor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Repetition repeats a session's iterations one by one. It is not safe for concurrent use. The caller closes it.
type Repetition struct {
	trace   *Trace
	dir     string
	journal *os.File
	next    int
}

// Start begins to repeat a session in an empty or new directory. It writes the journal up to the first iteration.
func Start(t *Trace, dir string) (*Repetition, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	journal, err := os.OpenFile(filepath.Join(dir, "events.jsonl"), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	r := &Repetition{trace: t, dir: dir, journal: journal}
	if err := r.commit(t.Prefix); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	return r, nil
}

// Close closes the repeated journal.
func (r *Repetition) Close() error { return r.journal.Close() }

// Iterate repeats the next iteration of the recorded session. call makes the call of the agent; nil makes none.
func (r *Repetition) Iterate(call func(request []byte) error) error {
	if r.next == len(r.trace.Iterations) {
		return errors.New("the session has no further iteration")
	}
	it, stage := &r.trace.Iterations[r.next], filepath.Join(r.dir, r.trace.stage)
	dir, state := filepath.Join(stage, iterationDir(r.next)), filepath.Join(r.dir, "state.json")
	result, output := filepath.Join(dir, "result.json"), filepath.Join(dir, "output.md")
	attempts, outputCopy := filepath.Join(dir, "attempts.jsonl"), filepath.Join(stage, copyName(r.next))
	r.next++
	return inOrder(
		func() error { return r.commit(it.Start) },
		func() error { return replace(state, it.StateBefore, false) },
		func() error { return os.MkdirAll(filepath.Join(dir, "attempts", "01"), 0o750) },
		func() error { return replace(filepath.Join(dir, "context.json"), it.Context, false) },
		func() error { return appendTo(attempts, it.Attempts[0]) },
		func() error {
			if call == nil {
				return nil
			}
			return call(r.trace.Request)
		},
		func() error { return os.WriteFile(result, it.Result, 0o600) }, // the agent
		func() error { return replace(output, it.Output, true) },
		func() error { return syncDir(filepath.Dir(dir)) }, // the iteration's directory entry is new
		func() error { return replace(outputCopy, it.Copy, false) },
		func() error { return replace(result, it.Result, true) },
		func() error { return appendTo(attempts, it.Attempts[1:]...) },
		func() error { return r.commit(it.Complete) },
		func() error { return replace(state, it.StateAfter, false) },
		func() error { return r.commit(it.After...) },
	)
}

func inOrder(steps ...func() error) error {
	for i, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("step %d of an iteration: %w", i+1, err)
		}
	}
	return nil
}

// commit writes and syncs each text separately.
func (r *Repetition) commit(texts ...[]byte) error { return Commit(r.journal, texts...) }

// Commit writes each text to a file and syncs it before the next one.
func Commit(f *os.File, texts ...[]byte) error {
	for _, text := range texts {
		if _, err := f.Write(text); err != nil {
			return err
		}
		if err := datasync(f); err != nil {
			return err
		}
	}
	return nil
}

// replace replaces a file atomically. If durable, it syncs the file and its directory.
func replace(name string, content []byte, durable bool) error {
	temp := filepath.Join(filepath.Dir(name), ".tmp")
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && durable {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, name); err != nil || !durable {
		return err
	}
	return syncDir(filepath.Dir(name))
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// appendTo appends each line with a separate write.
func appendTo(name string, lines ...[]byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if _, err := f.Write(line); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}
