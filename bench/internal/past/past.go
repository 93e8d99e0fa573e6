package past

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// model is the iteration that is repeated. The first iteration is not, because it also starts a plugin.
const model = 2

// Cut is the iteration in which a session must be interrupted for [Give].
const Cut = model + 1

// journal holds the events before the model, those of the model, and those of the interrupted next iteration.
type journal struct {
	before, model, after []event.Event
}

// Give extends a session to a number of complete iterations, at least 2, so that it appears interrupted in the next
// one. The session must have one stage, be interrupted in iteration 3, and not be running. The added iterations have
// events but no files. The lines have no digests: the caller accepts the journal before it resumes the session.
func Give(session string, iterations int) (err error) {
	if iterations < model {
		return fmt.Errorf("give session %s %d iterations: it has %d", session, iterations, model)
	}
	name := filepath.Join(session, "events.jsonl")
	j, err := load(name)
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(session, "state.json")); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := j.write(w, iterations); err != nil {
		return err
	}
	return errors.Join(w.Flush(), f.Sync(), moveCut(session, iterations+1))
}

// moveCut renames the directory of the interrupted iteration to that of iteration n, because a resume reads the files
// of the attempt.
func moveCut(session string, n int) error {
	found, err := filepath.Glob(filepath.Join(session, "*", "iterations", number(Cut)))
	if err != nil || len(found) != 1 {
		return errors.Join(err, fmt.Errorf("session %s has %d folders of iteration %d, want one", session, len(found), Cut))
	}
	return os.Rename(found[0], filepath.Join(filepath.Dir(found[0]), number(n)))
}

// number returns the name of an iteration's directory.
func number(n int) string { return fmt.Sprintf("%03d", n) }

// load reads and splits a journal.
func load(name string) (journal, error) {
	var j journal
	text, err := os.ReadFile(name)
	if err != nil {
		return j, err
	}
	into := &j.before
	for line := range bytes.Lines(text) {
		e, err := event.ParseLine(line)
		if err != nil {
			return j, fmt.Errorf("%s: %w", name, err)
		}
		if e.Type == event.IterationStart && e.Cursor != nil {
			switch e.Cursor.Iteration {
			case model:
				into = &j.model
			case Cut:
				into = &j.after
			}
		}
		*into = append(*into, e)
	}
	if len(j.model) == 0 || len(j.after) == 0 {
		return j, fmt.Errorf("%s is not a journal of a session that was cut off in iteration %d", name, Cut)
	}
	return j, nil
}

// write writes the journal with the number of complete iterations.
func (j journal) write(w *bufio.Writer, iterations int) error {
	took := j.after[0].Time.Sub(j.model[0].Time)
	seq, line := int64(0), []byte(nil)
	put := func(events []event.Event, was, is int) error {
		for _, e := range events {
			seq++
			var err error
			if line, err = shift(e, was, is, seq, time.Duration(is-was)*took).AppendLine(line[:0]); err != nil {
				return err
			}
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	}
	err := put(j.before, 0, 0)
	for n := model; n <= iterations && err == nil; n++ {
		err = put(j.model, model, n)
	}
	if err == nil {
		err = put(j.after, Cut, iterations+1)
	}
	return err
}

// shift returns an event of iteration was as it would be in iteration is: with number seq, and later by after.
func shift(e event.Event, was, is int, seq int64, after time.Duration) event.Event {
	e.Seq, e.Time, e.Prev = seq, e.Time.Add(after), ""
	if was == is {
		return e
	}
	if e.Cursor != nil {
		c := *e.Cursor
		c.Iteration, c.NodeRun = is, is
		e.Cursor = &c
	}
	if kind, place, n, ok := e.Key.Parse(); ok {
		place.Iteration = is
		e.Key = place.Key(kind, n)
	}
	for _, form := range []string{"iterations/%03d/", `"iteration":%d,`} {
		e.Data = bytes.ReplaceAll(e.Data, fmt.Appendf(nil, form, was), fmt.Appendf(nil, form, is))
	}
	return e
}
