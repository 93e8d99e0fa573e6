// Command embedder runs sessions in one engine, round after round, until its standard input ends. Several run at a
// time, with a plugin or with its own provider. They are watched, cancelled, approved, resumed, inspected and removed.
// After each round embedder prints its memory, descriptors and goroutines as a line of JSON.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// lanes is the number of sessions that run at a time, inARound the number of successive sessions of a lane in a round.
const (
	lanes    = 4
	inARound = 6
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "embedder:", err)
		os.Exit(1)
	}
}

func run() error {
	eng, err := engine.NewEngine(engine.WithProvider(scribe{}), engine.WithDefaultProvider("scribe"), engine.WithoutDelays())
	if err != nil {
		return err
	}
	defer eng.Close(context.Background())
	over := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(over)
	})
	defer reader.Wait()
	out := json.NewEncoder(os.Stdout)
	for round := 0; ; round++ {
		before := time.Now()
		events, err := play(eng, round)
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		s := measure()
		s.Sessions, s.Events, s.Seconds = lanes*inARound, events, time.Since(before).Seconds()
		if err := out.Encode(s); err != nil {
			return err
		}
		select {
		case <-over:
			return nil
		default:
		}
	}
}

// play runs a round and returns the number of events of its sessions.
func play(eng *engine.Engine, round int) (int, error) {
	var playing sync.WaitGroup
	faults, events := make([]error, lanes), make([]int, lanes)
	for lane := range lanes {
		playing.Go(func() {
			for i := range inARound {
				n := (round*lanes+lane)*inARound + i
				s := session{engine: eng, name: "s" + strconv.Itoa(n), n: n}
				count, err := s.play()
				events[lane] += count
				if err != nil {
					faults[lane] = errors.Join(faults[lane], fmt.Errorf("session %s: %w", s.name, err))
				}
			}
		})
	}
	playing.Wait()
	sum := 0
	for _, n := range events {
		sum += n
	}
	return sum, errors.Join(faults...)
}

// session is one session of a lane. Its number n determines its provider and whether it is supervised or cancelled.
type session struct {
	engine *engine.Engine
	name   string
	n      int
}

const text = `
name: soak
nodes:
  - {id: draft, provider: PROVIDER, prompt: "draft ${RESULT}", runs: 3}
  - {id: polish, provider: PROVIDER, prompt: "polish ${RESULT}", runs: 2, inputs: {from: draft}}
`

func (s session) play() (events int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	watch := s.engine.SubscribeSession(s.name, 4096)
	seen := 0
	var watching sync.WaitGroup
	watching.Go(func() {
		for u := range watch.Updates {
			if u.Event != nil {
				seen++
			}
			if u.Event != nil && s.n%4 == 1 && seen == 5+s.n%17 {
				cancel() // in the middle of the session
			}
		}
	})
	provider := "scribe"
	if s.n%6 == 0 {
		provider = "mock" // a plugin
	}
	result, err := s.engine.Run(ctx, engine.RunOptions{Text: replace(text, provider), Session: s.name, Supervised: s.n%4 == 2})
	for tries := 0; err == nil && result.Status == state.Paused && tries < 3; tries++ {
		if err = s.approve(); err == nil {
			result, err = s.engine.Resume(context.Background(), engine.ResumeOptions{Session: s.name})
		}
	}
	if err == nil && result.Status != state.Completed {
		err = fmt.Errorf("it is %s: %s", result.Status, result.Reason)
	}
	status, looked := s.engine.Status(s.name)
	watch.Close()
	watching.Wait()
	if err = errors.Join(err, looked); err != nil {
		return seen, err
	}
	return seen, errors.Join(s.checkJournal(status.Dir, seen, watch.Dropped()), s.engine.RemoveSession(context.Background(), s.name))
}

// approve approves the session's open questions.
func (s session) approve() error {
	questions, err := s.engine.Questions(s.name)
	for _, q := range questions {
		if q.Answer == nil {
			err = errors.Join(err, s.engine.Answer(context.Background(), engine.AnswerOptions{Session: s.name, Question: q.ID, Answer: "approve", By: "soak"}))
		}
	}
	return err
}

// checkJournal checks that all lines of the journal are JSON, that no number is missing, and that the watcher received
// every event. Answers are an exception, because one that is journaled while nothing runs is not reported.
func (s session) checkJournal(dir string, seen int, dropped int64) error {
	f, err := os.Open(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		return err
	}
	defer f.Close()
	lines, answers := 0, 0
	for scan := bufio.NewScanner(f); scan.Scan(); {
		var e struct {
			Seq  int
			Type string
		}
		if err := json.Unmarshal(scan.Bytes(), &e); err != nil {
			return fmt.Errorf("line %d: %w", lines+1, err)
		}
		if lines++; e.Seq != lines {
			return fmt.Errorf("line %d has the number %d", lines, e.Seq)
		}
		if e.Type == "question_answered" {
			answers++
		}
	}
	if dropped > 0 || seen+answers < lines {
		return fmt.Errorf("the journal has %d events, the watcher saw %d and %d were dropped", lines, seen, dropped)
	}
	return nil
}

// scribe is a provider in this process. It outputs its prompt and writes a result.
type scribe struct{}

func (scribe) Describe() sdk.Component {
	return sdk.Component{Name: "scribe", Summary: "writes", Provider: &sdk.ProviderTraits{Locality: sdk.LocalityLocal, SoftCancel: true}}
}

func (scribe) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	x.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: req.Prompt})
	if err := ctx.Err(); err != nil {
		return sdk.ExecuteResult{}, err
	}
	return sdk.ExecuteResult{Output: req.Prompt, Outcome: sdk.OutcomeSucceeded}, os.WriteFile(req.Paths.Result, []byte(`{"summary": "written"}`), 0o644)
}
