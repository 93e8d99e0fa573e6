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

// The agent of an iteration's first attempt leaves what it came to in the iteration's directory, where the Bash engine
// has it. That of a further attempt gets paths of its own, so that what the agent of one that was given up still writes
// cannot be taken for its result; when the attempt ends, the kernel puts what it left where the first one's would be.

// place is the directory in which the agent of this attempt leaves what it came to. One that makes a bad artifact again
// has the paths of the attempt that made it, which was not given up; one that goes on from a checkpoint was told those of
// the attempt that saved it.
func (a *attempt) place() store.Iteration {
	n := a.command.Attempt
	if l := a.loop(); len(l.Faults) > 0 {
		n = max(1, n-l.ArtifactRetries)
	}
	if c := a.loop().Checkpoint; c != nil {
		if saved, err := strconv.Atoi(path.Base(path.Dir(c.Blob.Path))); err == nil {
			n = saved
		}
	}
	if n > 1 || a.Contested {
		return store.Iteration(a.iteration.Attempt(n))
	}
	return a.iteration
}

// apart reports whether the agent writes elsewhere than a first attempt's would.
func (a *attempt) apart() bool { return a.reports != a.iteration }

// reportsIn are the files in which an agent leaves what it came to, in a directory.
func reportsIn(it store.Iteration) []string {
	return []string{it.Result(), it.Status(), it.Artifact(), it.ArtifactJSON()}
}

// watched is a path that an attempt before this one was given, as it is at the beginning of this one.
type watched struct {
	name string
	of   int // the attempt
	info fs.FileInfo
}

// watch remembers what lies at the paths of the attempts before this one: what is new there when it ends was written
// by an attempt that was given up.
func (a *attempt) watch() error {
	if a.apart() {
		for _, name := range append(reportsIn(a.iteration), a.iteration.Output()) {
			a.watchFile(name, 1)
		}
	}
	if a.before == nil {
		return nil
	}
	made, err := a.Dir.Entries(path.Dir(a.private()))
	if err != nil {
		return err
	}
	for _, e := range made {
		n, err := strconv.Atoi(e.Name())
		if it := store.Iteration(a.iteration.Attempt(n)); err == nil && it != a.reports {
			for _, name := range reportsIn(it) {
				a.watchFile(name, n)
			}
		}
	}
	return nil
}

func (a *attempt) watchFile(name string, of int) {
	info, _ := a.Dir.Stat(name) // nil: nothing lies there
	a.watching = append(a.watching, watched{name, of, info})
}

// refuseLate finds what came at the paths of attempts that were given up while this one was at work. What lies in the
// place of this one's own goes aside.
func (a *attempt) refuseLate() {
	for _, w := range a.watching {
		info, err := a.Dir.Stat(w.name)
		if err != nil || unchanged(w.info, info) {
			continue
		}
		a.refuse(w.name, w.of, path.Dir(w.name) == string(a.iteration))
	}
	a.watching = nil
}

// refuse records a file that came late, and puts it aside where it is in the way.
func (a *attempt) refuse(name string, of int, inTheWay bool) {
	kept := name
	if inTheWay {
		kept = a.private() + "/late-" + path.Base(name)
		if err := a.Dir.Rename(name, kept); err != nil {
			a.log.Warn("a file of an attempt that was given up is not moved aside", "file", name, "error", err)
			return
		}
	}
	a.tellLate(event.LateDeliveryData{What: event.LateFile, Of: of, GivenUp: a.before.givenUpFor(), Path: name, Kept: refIf(a.Dir, kept)})
}

// refIf refers to a file, nil if it cannot be read.
func refIf(d *store.Dir, name string) *event.Ref {
	ref, err := d.Ref(name)
	if err != nil {
		return nil
	}
	return &ref
}

// publish puts what the agent left where that of a first attempt would be, and says so in context.json, but for the result of one that succeeded,
// which has been written there in its normal form. What is no file that can be read is moved there, for whoever
// looks at it to say so.
func (a *attempt) publish(succeeded bool) error {
	if !a.apart() {
		return nil
	}
	faults := []error{a.tellWhere()}
	to := reportsIn(a.iteration)
	for i, name := range reportsIn(a.reports) {
		if i == 0 && succeeded {
			continue
		}
		limit := int64(result.MaxBytes)
		if i > 1 {
			limit = a.node.Artifact.Limit()
		}
		data, err := a.Dir.Read(name, limit)
		var gone *failure.Error
		switch {
		case err == nil:
			err = a.Dir.Replace(to[i], data)
		case errors.As(err, &gone):
		case errors.Is(err, fs.ErrNotExist):
			err = nil
		default:
			err = a.Dir.Rename(name, to[i])
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// tellWhere puts the paths into context.json at which the files of the attempt lie when it is over.
func (a *attempt) tellWhere() error {
	if a.context.Session == "" { // it was not written
		return nil
	}
	a.context.Paths.Status, a.context.Paths.Result = a.Dir.Abs(a.iteration.Status()), a.Dir.Abs(a.iteration.Result())
	if c := a.context.Artifact; c != nil && a.command.Location.Step == "" {
		c.Path = a.Dir.Abs(a.iteration.Artifact())
	}
	_, err := inputs.Write(a.Dir, a.iteration, a.context)
	return err
}

// keepApart ends an attempt that succeeded after one that was given up: its files are put where they belong, and
// [Accepted] sees to it that they stay what they are.
func (a *attempt) keepApart(normal []byte, out *event.Ref) error {
	if !a.apart() {
		return nil
	}
	if err := errors.Join(a.publish(true), a.Dir.Replace(a.reports.Result(), normal)); err != nil {
		return err
	}
	to := reportsIn(a.iteration)
	for i, name := range reportsIn(a.reports) {
		a.Accepted.add(a, to[i], name)
	}
	if out == nil {
		return nil
	}
	text, err := a.Dir.ReadRef(*out)
	if err != nil {
		return err
	}
	own := a.private() + "/output.md"
	if err := a.Dir.Replace(own, text); err != nil {
		return err
	}
	a.Accepted.add(a, out.Path, own)
	return nil
}

// setAsideReports moves what an earlier attempt left aside: it would be taken for this one's. What it left after it
// was given up is told of.
func (a *attempt) setAsideReports() error {
	for _, name := range a.left() {
		if err := a.setAsideFrom(name, a.superseded(name)); err != nil {
			return err
		}
	}
	if !a.apart() {
		return nil
	}
	for _, name := range reportsIn(a.reports) { // of one with the same number, that a crash cut off
		if err := a.setAsideFrom(name, a.private()+"/earlier-"+path.Base(name)); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) setAsideFrom(name, to string) error {
	var written time.Time
	if a.before != nil {
		if info, err := a.Dir.Stat(name); err == nil {
			written = info.ModTime()
		}
	}
	if err := a.setAside(name, to); err != nil {
		return err
	}
	if a.before != nil && written.After(a.before.over) {
		a.tellLate(event.LateDeliveryData{What: event.LateFile, Of: a.before.Attempt, GivenUp: a.before.givenUpFor(), Path: name, Kept: refIf(a.Dir, to)})
	}
	return nil
}
