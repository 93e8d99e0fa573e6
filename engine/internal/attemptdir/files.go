package attemptdir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Files are the files of one attempt.
type Files struct {
	*effect.Effect
	NodeDir   store.Node
	Iteration store.Iteration
	Reports   store.Iteration // the directory for the agent's result files

	attempts *Attempts
	started  time.Time
	previous *previous      // the earlier attempt of the iteration, nil for the first
	earlier  []guardedFile  // paths of earlier attempts
	context  inputs.Context // the content of context.json
}

// Open creates the directories of an attempt and archives the results of an earlier attempt.
func Open(ctx context.Context, e *effect.Effect, all *Attempts) (*Files, error) {
	node, err := store.NodeAt(e.Plan, e.Command.Location)
	if err != nil {
		return nil, err
	}
	f := &Files{Effect: e, NodeDir: node, Iteration: node.Iteration(e.Command.Location.Iteration), attempts: all, started: time.Now()}
	f.Reports = f.reportsDir(all.PossiblyFenced)
	all.Restore(ctx, e.Env, e.Record)
	all.forget(f.Iteration)
	fresh, err := f.Dir.MkdirNew(string(f.Iteration)) // a fresh directory is empty
	if err != nil {
		return f, err
	}
	if !fresh {
		if f.previous, err = findPrevious(f.Dir, f.Iteration, all.OpenedAt); err != nil {
			return f, err
		}
	}
	if err := f.Dir.MkdirPrivate(f.Private()); err != nil {
		return f, err
	}
	if !fresh {
		err = f.archiveReports()
	}
	return f, errors.Join(err, f.guardEarlierPaths())
}

// Private returns the directory that only this attempt writes to.
func (f *Files) Private() string { return f.Iteration.Attempt(f.Command.Attempt) }

// reportsDir returns the directory for the agent's result files. A retry after an invalid artifact uses the paths of
// the attempt that made it, which was not abandoned. A resume uses the paths of the attempt that saved the checkpoint.
func (f *Files) reportsDir(possiblyFenced bool) store.Iteration {
	n, l := f.Command.Attempt, f.Loop()
	if len(l.Faults) > 0 {
		n = max(1, n-l.ArtifactRetries)
	}
	if c := l.Checkpoint; c != nil {
		if saved, err := strconv.Atoi(path.Base(path.Dir(c.Blob.Path))); err == nil {
			n = saved
		}
	}
	if n > 1 || possiblyFenced {
		return store.Iteration(f.Iteration.Attempt(n))
	}
	return f.Iteration
}

// usesPrivateDir reports whether the agent writes to a directory other than the first attempt's.
func (f *Files) usesPrivateDir() bool { return f.Reports != f.Iteration }

// makesArtifact reports whether this iteration makes the node's artifact. An iteration of a step does not, because
// all steps make the artifact together.
func (f *Files) makesArtifact() bool { return f.Node.Artifact != nil && f.Command.Location.Step == "" }

// reportNames returns the result files of an agent in a directory.
func reportNames(it store.Iteration) []string {
	return []string{it.Result(), it.Status(), it.Artifact(), it.ArtifactJSON()}
}

// Names returns the names of the agent's result files.
func (f *Files) Names() []string { return reportNames(f.Reports) }

// Report returns the agent's result or status file, nil if it wrote none.
func (f *Files) Report(name string) ([]byte, error) {
	text, err := f.Dir.Read(name, result.MaxBytes)
	var known *failure.Error
	switch {
	case err == nil:
		return text, nil
	case errors.As(err, &known): // a fault of the system, or a missing directory of the session
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	default: // the agent's fault: too large, a directory, a pipe, a link that leaves the session
		return nil, result.Unreadable(name, err)
	}
}

// guardEarlierPaths guards the paths of earlier attempts. A change found at the end comes from an abandoned attempt.
func (f *Files) guardEarlierPaths() error {
	if f.usesPrivateDir() {
		f.guard(1, true, append(reportNames(f.Iteration), f.Iteration.Output())...)
	}
	if f.previous == nil {
		return nil
	}
	attempts, err := f.Dir.Entries(path.Dir(f.Private()))
	if err != nil {
		return err
	}
	for _, e := range attempts {
		n, err := strconv.Atoi(e.Name())
		if it := store.Iteration(f.Iteration.Attempt(n)); err == nil && it != f.Reports {
			f.guard(n, false, reportNames(it)...)
		}
	}
	return nil
}

// guard guards the paths of an earlier attempt. With move, late content is moved to this attempt's private directory.
func (f *Files) guard(attempt int, move bool, names ...string) {
	for _, name := range names {
		info, _ := f.Dir.Stat(name) // nil: no such file
		g := guardedFile{name: name, info: info, late: f.lateFile(attempt, name)}
		if move {
			g.archive = f.Private() + "/late-" + path.Base(name)
		}
		f.earlier = append(f.earlier, g)
	}
}

// lateFile returns the late delivery of a file that an earlier attempt wrote.
func (f *Files) lateFile(attempt int, name string) event.LateDeliveryData {
	d := event.LateDeliveryData{Kind: event.LateFile, Attempt: attempt, Path: name}
	if f.previous != nil {
		d.AbandonReason = f.previous.ErrorType
	}
	return d
}

// RefuseLate records the files that abandoned attempts wrote during this attempt.
func (f *Files) RefuseLate() {
	for i := range f.earlier {
		late, err := f.earlier[i].refuse(f.Dir)
		switch {
		case err != nil:
			f.Log.Warn("could not archive a file of an abandoned attempt", "file", f.earlier[i].name, "error", err)
		case late != nil:
			f.RecordLate(*late)
		}
	}
}

// WriteContext writes context.json.
func (f *Files) WriteContext(c inputs.Context) error {
	f.context = c
	_, err := inputs.Write(f.Dir, f.Iteration, c)
	return err
}

// rewriteContextPaths updates context.json with the final paths of the attempt's files.
func (f *Files) rewriteContextPaths() error {
	c := f.context
	if c.Session == "" { // the file was not written
		return nil
	}
	c.Paths.Status, c.Paths.Result = f.Dir.Abs(f.Iteration.Status()), f.Dir.Abs(f.Iteration.Result())
	if c.Artifact != nil && f.Command.Location.Step == "" {
		c.Artifact.Path = f.Dir.Abs(f.Iteration.Artifact())
	}
	return f.WriteContext(c)
}

// PublishFailed copies the files of an attempt that failed to the paths of a first attempt.
func (f *Files) PublishFailed() error { return f.publish(false) }

// publish copies the agent's files to the paths of a first attempt and updates context.json. It skips the result
// after a success, because the normalized result is already there. Unreadable files are moved, so that the reader
// reports them.
func (f *Files) publish(succeeded bool) error {
	if !f.usesPrivateDir() {
		return nil
	}
	faults := []error{f.rewriteContextPaths()}
	to := reportNames(f.Iteration)
	for i, name := range f.Names() {
		if i == 0 && succeeded {
			continue
		}
		limit := int64(result.MaxBytes)
		if i > 1 {
			limit = f.Node.Artifact.Limit()
		}
		data, err := f.Dir.Read(name, limit)
		var known *failure.Error
		switch {
		case err == nil:
			err = f.Dir.Replace(to[i], data)
		case errors.As(err, &known):
		case errors.Is(err, fs.ErrNotExist):
			err = nil
		default:
			err = f.Dir.Rename(name, to[i])
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// Publish publishes the files of an attempt that succeeded. normal is the normalized result, which is already at its
// path; output is nil for none. [Attempts] guards the files of a retry from then on. The artifact's file is durable
// afterwards: the evaluation reads it, and the agent does not run again.
func (f *Files) Publish(normal []byte, output *event.Ref) error {
	if f.usesPrivateDir() {
		if err := f.publishRetry(normal, output); err != nil {
			return err
		}
	}
	if !f.makesArtifact() {
		return nil
	}
	return f.Dir.Sync(string(f.Iteration), path.Base(f.Iteration.Artifact()), path.Base(f.Iteration.ArtifactJSON()))
}

func (f *Files) publishRetry(normal []byte, output *event.Ref) error {
	if err := errors.Join(f.publish(true), f.Dir.Replace(f.Reports.Result(), normal)); err != nil {
		return err
	}
	to := reportNames(f.Iteration)
	for i, name := range f.Names() {
		f.attempts.add(f.Effect, to[i], name)
	}
	if output == nil {
		return nil
	}
	text, err := f.Dir.ReadRef(*output)
	if err != nil {
		return err
	}
	own := f.Private() + "/output.md"
	if err := f.Dir.Replace(own, text); err != nil {
		return err
	}
	f.attempts.add(f.Effect, output.Path, own)
	return nil
}

// archived returns the archive path of an earlier attempt's file.
func (f *Files) archived(name string) string { return f.Private() + "/superseded-" + path.Base(name) }

// ArchivedArtifact returns the path of the artifact that the earlier attempt left, "" for none.
func (f *Files) ArchivedArtifact() string {
	for _, name := range []string{f.Iteration.ArtifactCall(), f.Iteration.Artifact(), f.Iteration.ArtifactJSON()} {
		if info, err := f.Dir.Stat(f.archived(name)); err == nil && info.Mode().IsRegular() {
			return f.Dir.Abs(f.archived(name))
		}
	}
	return ""
}

// archiveReports archives the result files of an earlier attempt, so that they are not read as files of this attempt.
// It records the files that were written after the earlier attempt was abandoned.
func (f *Files) archiveReports() error {
	names := []string{f.Iteration.Result(), f.Iteration.Status(), f.Iteration.Output()}
	if f.makesArtifact() {
		names = append(names, f.Iteration.Artifact(), f.Iteration.ArtifactJSON(), f.Iteration.ArtifactCall())
	}
	for _, name := range names {
		if err := f.archive(name, f.archived(name)); err != nil {
			return err
		}
	}
	if !f.usesPrivateDir() {
		return nil
	}
	for _, name := range f.Names() { // of an attempt with the same number that a crash interrupted
		if err := f.archive(name, f.Private()+"/earlier-"+path.Base(name)); err != nil {
			return err
		}
	}
	return nil
}

// archive moves a file of any kind, a dangling link included. A missing file is no error.
func (f *Files) archive(name, to string) error {
	info, statErr := f.Dir.Stat(name)
	if err := ignoreNotExist(f.Dir.Rename(name, to)); err != nil {
		return err
	}
	if p := f.previous; p != nil && statErr == nil && info.ModTime().After(p.endedAt) {
		late := f.lateFile(p.Attempt, name)
		late.KeptFile = optionalRef(f.Dir, to)
		f.RecordLate(late)
	}
	return nil
}

// RecordStart adds the line of an attempt that starts.
func (f *Files) RecordStart() error {
	r := record{Status: "running"}
	if l := f.Loop(); len(l.Faults) > 0 && f.Command.Attempt > 1 {
		r.Heal, r.Faults = l.ArtifactRetries, l.Faults
	}
	return f.appendRecord(r)
}

// RecordCompleted adds the line of an attempt that completed with an output, nil for none.
func (f *Files) RecordCompleted(output *event.Ref) error {
	r := record{Status: "completed", EndedAt: formatTime(time.Now())}
	if output != nil {
		r.OutputPath = output.Path
	}
	return f.appendRecord(r)
}

// RecordFailed adds the line of an attempt that failed.
func (f *Files) RecordFailed(d event.FailureData) error {
	return f.appendRecord(record{Status: "failed", EndedAt: formatTime(time.Now()), Error: d.Message, ErrorType: d.ErrorType})
}

func (f *Files) appendRecord(r record) error {
	r.Attempt, r.Epoch, r.StartedAt = f.Command.Attempt, f.State.Epoch, formatTime(f.started)
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("render the record of an attempt: %w", err)
	}
	return f.Dir.Append(f.Iteration.Attempts(), b)
}
