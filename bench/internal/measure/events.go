package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/cost"
	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/past"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// eventsEach is the number of events of an iteration without tools.
const eventsEach = 3

// events measures the cost of a session's size: status and resume of interrupted sessions. It compares them with the
// smallest session and with a program that reads the same journal line by line.
func (b *bench) events(ctx context.Context) (_ []table.Row, err error) {
	small, err := b.bulky(ctx, b.Events[0])
	defer func() { err = errors.Join(err, small.close()) }()
	if err != nil {
		return nil, err
	}
	var rows []table.Row
	for _, size := range b.Events {
		more, err := b.eventRows(ctx, small, size)
		if err != nil {
			return nil, fmt.Errorf("%d events: %w", size, err)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func (b *bench) eventRows(ctx context.Context, small *bigSession, size int) (_ []table.Row, err error) {
	s := small
	if size != small.events {
		s, err = b.bulky(ctx, size)
		defer func() { err = errors.Join(err, s.close(), os.RemoveAll(s.project.Dir)) }()
		if err != nil {
			return nil, err
		}
	}
	var status, resume, read, smallStatus, smallResume costs
	rounds := b.rounds(10)
	if size >= 1_000_000 { // a round takes half a minute
		rounds = b.rounds(3)
	}
	if _, err = sample.InTurn(ctx, rounds,
		smallStatus.measured(small.status), smallResume.measured(small.resume), read.measured(s.read), status.measured(s.status), resume.measured(s.resume)); err != nil {
		return nil, err
	}
	rows := besideReading(size, &status, &resume, &read)
	if s == small {
		rows[0].Key, rows[1].Key = "status", "resume"
	} else {
		rows = append(rows, smallestRows(size, small.events, [2]*costs{&status, &smallStatus}, [2]*costs{&resume, &smallResume})...)
	}
	return slices.DeleteFunc(rows, func(r table.Row) bool { return r.Unit == table.Bytes && r.Ours.Median() == 0 }), nil // not available on this system
}

func besideReading(events int, status, resume, read *costs) []table.Row {
	const peer = "a program that reads its journal line by line"
	session := fmt.Sprintf("a session of %d events", events)
	return []table.Row{
		{Name: "status of " + session, Ours: status.seconds(), Peer: peer, Theirs: read.seconds()},
		{Name: "resume of " + session + ", command's start to the agent's call", Ours: resume.seconds(), Peer: peer, Theirs: read.seconds()},
		{Name: "peak memory of status of " + session, Unit: table.Bytes, Ours: status.peaks(), Peer: peer, Theirs: read.peaks()},
		{Name: "peak memory of the kernel resuming " + session, Unit: table.Bytes, Ours: resume.peaks(), Peer: peer, Theirs: read.peaks()},
	}
}

// smallestRows compares each session with the smallest one.
func smallestRows(events, least int, status, resume [2]*costs) []table.Row {
	session, peer := fmt.Sprintf("a session of %d events", events), fmt.Sprintf("of %d events", least)
	return []table.Row{
		{
			Name: "status of " + session + ", processor time", Ours: status[0].computed(), Peer: peer, Theirs: status[1].computed(),
			Key: fmt.Sprintf("status-%d", events),
		},
		{
			Name: "resume of " + session + ", processor time of the kernel", Ours: resume[0].computed(), Peer: peer, Theirs: resume[1].computed(),
			Key: fmt.Sprintf("resume-%d", events),
		},
		{
			Name: "peak memory of the kernel resuming " + session, Unit: table.Bytes, Ours: resume[0].peaks(), Peer: peer, Theirs: resume[1].peaks(),
			Key: fmt.Sprintf("resume-memory-%d", events),
		},
	}
}

// costs holds the cost of each run. The first run warms up, so series leaves it out.
type costs []cost.Cost

func (c *costs) measured(subject func(context.Context) (cost.Cost, error)) sample.Subject {
	return func(ctx context.Context) (float64, error) {
		took, err := subject(ctx)
		*c = append(*c, took)
		return took.Seconds, err
	}
}

func (c *costs) series(value func(cost.Cost) float64) sample.Series {
	var s sample.Series
	for _, one := range (*c)[1:] {
		s = append(s, value(one))
	}
	return s
}

func (c *costs) seconds() sample.Series {
	return c.series(func(c cost.Cost) float64 { return c.Seconds })
}

func (c *costs) computed() sample.Series {
	return c.series(func(c cost.Cost) float64 { return c.CPU })
}

func (c *costs) peaks() sample.Series {
	return c.series(func(c cost.Cost) float64 { return c.Peak })
}

// bigSession is a session with a long journal. Its kernel was killed during work, and is killed again after each
// resume. The caller closes it, also after an error.
type bigSession struct {
	*bench
	events  int // initial number of journal events; each resume adds a few
	project *ground.Project
	watch   *ground.Watch
	delay   time.Duration // working time of the agent before the kill, in which state.json is written
}

const bulkySession = "bulky"

// bulky creates a session with a number of events.
func (b *bench) bulky(ctx context.Context, events int) (*bigSession, error) {
	iterations := max(past.Cut, events/eventsEach)
	s := &bigSession{bench: b, events: events, delay: b.WriteDelay}
	if events == b.Events[0] {
		s.delay = 0 // a small file is written before the call of the agent
	}
	var err error
	if s.project, err = b.Project(ground.Loop("mock", iterations+2)); err != nil {
		return s, err
	}
	if err := b.cutOff(ctx, s.project); err != nil {
		return s, err
	}
	if err := past.Give(s.project.Session(bulkySession), iterations); err != nil {
		return s, err
	}
	if err := s.project.Accept(ctx, bulkySession); err != nil {
		return s, err
	}
	s.watch, err = b.Watch(iterations + 1)
	return s, err
}

// cutOff starts the session and kills its kernel during the work of iteration [past.Cut].
func (b *bench) cutOff(ctx context.Context, p *ground.Project) (err error) {
	w, err := b.Watch(past.Cut)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	r, err := p.Start(ctx, bulkySession, w.Environment...)
	if err != nil {
		return err
	}
	defer r.Kill()
	_, err = w.Until(past.Cut)
	return err
}

func (s *bigSession) close() error {
	if s == nil || s.watch == nil {
		return nil
	}
	return s.watch.Close()
}

func (s *bigSession) status(ctx context.Context) (cost.Cost, error) {
	return s.project.Status(ctx, bulkySession)
}

func (s *bigSession) read(ctx context.Context) (cost.Cost, error) {
	return s.ReadLines(ctx, filepath.Join(s.project.Session(bulkySession), "events.jsonl"))
}

// resume measures the time from the command's start to the agent's call, then kills the kernel.
// Processor time and peak memory are those of the kernel. The peak is 0 where the system does not show it.
func (s *bigSession) resume(ctx context.Context) (cost.Cost, error) {
	var took cost.Cost
	r, err := s.project.Resume(ctx, bulkySession, s.watch.Environment...)
	if err != nil {
		return took, err
	}
	defer r.Kill()
	call, err := s.watch.Next()
	if err != nil {
		return took, err
	}
	took.Seconds = call.At.Sub(r.Started).Seconds()
	if err := pass(ctx, s.delay); err != nil {
		return took, err
	}
	took.Peak, err = ground.PeakMemory(r.PID)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return took, err
	}
	r.Kill()
	took.CPU = r.CPU()
	return took, nil
}
