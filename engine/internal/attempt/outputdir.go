package attempt

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// The agent of a first attempt writes its result files to the iteration's directory, as in the Bash engine. A retry gets
// a private directory, because the agent of an abandoned attempt may still write to the first one. At its end the
// engine publishes the files in the iteration's directory.

// chooseOutputDir returns the directory for the agent's result files. A retry of an invalid artifact uses that
// attempt's paths, since it was not abandoned. A resume from a checkpoint uses the paths of the attempt that saved
// it.
func (a *attempt) chooseOutputDir() store.Iteration {
	n := a.command.Attempt
	if l := a.loop(); len(l.Faults) > 0 {
		n = max(1, n-l.ArtifactRetries)
	}
	if c := a.loop().Checkpoint; c != nil {
		if saved, err := strconv.Atoi(path.Base(path.Dir(c.Blob.Path))); err == nil {
			n = saved
		}
	}
	if n > 1 || a.PossiblyFenced {
		return store.Iteration(a.iteration.Attempt(n))
	}
	return a.iteration
}

// usesPrivateDir reports whether the agent writes to a directory other than the first attempt's.
func (a *attempt) usesPrivateDir() bool { return a.outputDir != a.iteration }

// reportFiles returns the result files of an agent in a directory.
func reportFiles(it store.Iteration) []string {
	return []string{it.Result(), it.Status(), it.Artifact(), it.ArtifactJSON()}
}

// watchedFile is a path of an earlier attempt and its state when this attempt began.
type watchedFile struct {
	name    string
	attempt int // the attempt
	info    fs.FileInfo
}

// watchEarlierPaths records the files at the paths of earlier attempts. A change found at the end comes from an
// abandoned attempt.
func (a *attempt) watchEarlierPaths() error {
	if a.usesPrivateDir() {
		for _, name := range append(reportFiles(a.iteration), a.iteration.Output()) {
			a.watchFile(name, 1)
		}
	}
	if a.previousTry == nil {
		return nil
	}
	attempts, err := a.Dir.Entries(path.Dir(a.privateDir()))
	if err != nil {
		return err
	}
	for _, e := range attempts {
		n, err := strconv.Atoi(e.Name())
		if it := store.Iteration(a.iteration.Attempt(n)); err == nil && it != a.outputDir {
			for _, name := range reportFiles(it) {
				a.watchFile(name, n)
			}
		}
	}
	return nil
}

func (a *attempt) watchFile(name string, number int) {
	info, _ := a.Dir.Stat(name) // nil: no such file
	a.watchedFiles = append(a.watchedFiles, watchedFile{name, number, info})
}

// refuseLateFiles records the files that abandoned attempts wrote during this one. A file at one of this attempt's
// result paths is archived.
func (a *attempt) refuseLateFiles() {
	for _, w := range a.watchedFiles {
		info, err := a.Dir.Stat(w.name)
		if err != nil || isUnchanged(w.info, info) {
			continue
		}
		a.refuseLateFile(w.name, w.attempt, path.Dir(w.name) == string(a.iteration))
	}
	a.watchedFiles = nil
}

// refuseLateFile records a late file, and archives it if it is in the way.
func (a *attempt) refuseLateFile(name string, number int, inTheWay bool) {
	kept := name
	if inTheWay {
		kept = a.privateDir() + "/late-" + path.Base(name)
		if err := a.Dir.Rename(name, kept); err != nil {
			a.log.Warn("could not archive a file of an abandoned attempt", "file", name, "error", err)
			return
		}
	}
	a.recordLateDelivery(event.LateDeliveryData{Kind: event.LateFile, Attempt: number, GivenUp: a.previousTry.failureKind(), Path: name, KeptFile: optionalRef(a.Dir, kept)})
}

// optionalRef returns a reference to a file, nil if the file cannot be read.
func optionalRef(d *store.Dir, name string) *event.Ref {
	ref, err := d.Ref(name)
	if err != nil {
		return nil
	}
	return &ref
}

// publish copies the agent's files to the paths of a first attempt and updates context.json. It skips the result
// after a success, because its normal form is already there. Unreadable files are moved, so that the reader reports
// them.
func (a *attempt) publish(succeeded bool) error {
	if !a.usesPrivateDir() {
		return nil
	}
	faults := []error{a.rewriteContextPaths()}
	to := reportFiles(a.iteration)
	for i, name := range reportFiles(a.outputDir) {
		if i == 0 && succeeded {
			continue
		}
		limit := int64(result.MaxBytes)
		if i > 1 {
			limit = a.node.Artifact.Limit()
		}
		data, err := a.Dir.Read(name, limit)
		var known *failure.Error
		switch {
		case err == nil:
			err = a.Dir.Replace(to[i], data)
		case errors.As(err, &known):
		case errors.Is(err, fs.ErrNotExist):
			err = nil
		default:
			err = a.Dir.Rename(name, to[i])
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// rewriteContextPaths updates context.json with the final paths of the attempt's files.
func (a *attempt) rewriteContextPaths() error {
	if a.context.Session == "" { // prepare has not written it
		return nil
	}
	a.context.Paths.Status, a.context.Paths.Result = a.Dir.Abs(a.iteration.Status()), a.Dir.Abs(a.iteration.Result())
	if c := a.context.Artifact; c != nil && a.command.Location.Step == "" {
		c.Path = a.Dir.Abs(a.iteration.Artifact())
	}
	_, err := inputs.Write(a.Dir, a.iteration, a.context)
	return err
}

// publishRetry publishes the files of an attempt that succeeded after an abandoned one. [PublishedFiles] guards them
// from then on.
func (a *attempt) publishRetry(normal []byte, out *event.Ref) error {
	if !a.usesPrivateDir() {
		return nil
	}
	if err := errors.Join(a.publish(true), a.Dir.Replace(a.outputDir.Result(), normal)); err != nil {
		return err
	}
	to := reportFiles(a.iteration)
	for i, name := range reportFiles(a.outputDir) {
		a.Published.add(a, to[i], name)
	}
	if out == nil {
		return nil
	}
	text, err := a.Dir.ReadRef(*out)
	if err != nil {
		return err
	}
	own := a.privateDir() + "/output.md"
	if err := a.Dir.Replace(own, text); err != nil {
		return err
	}
	a.Published.add(a, out.Path, own)
	return nil
}

// archiveReports archives the result files of an earlier attempt, so that they are not read as this one's. It records
// those written after that attempt was abandoned.
func (a *attempt) archiveReports() error {
	for _, name := range a.archivedFiles() {
		if err := a.archiveFile(name, a.supersededPath(name)); err != nil {
			return err
		}
	}
	if !a.usesPrivateDir() {
		return nil
	}
	for _, name := range reportFiles(a.outputDir) { // of an attempt with the same number that a crash interrupted
		if err := a.archiveFile(name, a.privateDir()+"/earlier-"+path.Base(name)); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) archiveFile(name, to string) error {
	var written time.Time
	if a.previousTry != nil {
		if info, err := a.Dir.Stat(name); err == nil {
			written = info.ModTime()
		}
	}
	if err := a.archive(name, to); err != nil {
		return err
	}
	if a.previousTry != nil && written.After(a.previousTry.endedAt) {
		a.recordLateDelivery(event.LateDeliveryData{Kind: event.LateFile, Attempt: a.previousTry.Attempt, GivenUp: a.previousTry.failureKind(), Path: name, KeptFile: optionalRef(a.Dir, to)})
	}
	return nil
}
