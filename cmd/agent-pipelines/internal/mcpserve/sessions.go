package mcpserve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/why"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// These are the default and the maximum numbers of results of a call, and its longest wait.
const (
	fewSessions, mostSessions = 20, 200
	fewLinks, mostLinks       = 20, 200
	mostWait                  = 300 // seconds
)

type listSessionsIn struct {
	Status []string `json:"status,omitempty" jsonschema:"only sessions with one of these: running, paused, failed, crashed, completed, aborted, pending, unknown"`
	Limit  int      `json:"limit,omitempty" jsonschema:"how many at most, 1 to 200; default 20"`
}

type listSessionsOut struct {
	Sessions []sessionRow `json:"sessions"`
	LeftOut  int          `json:"left_out" jsonschema:"how many more there are"`
}

type sessionRow struct {
	Session  string    `json:"session"`
	Status   string    `json:"status" jsonschema:"running, paused, failed, crashed (its process is gone), completed, aborted, pending or unknown"`
	Stage    string    `json:"stage,omitempty"`
	Waiting  []string  `json:"waiting,omitempty" jsonschema:"ids of the unanswered questions"`
	Modified time.Time `json:"modified"`
}

func (s *server) listSessions(ctx context.Context, _ call, in listSessionsIn) (out listSessionsOut, err error) {
	limit, err := number("limit", in.Limit, fewSessions, mostSessions)
	if err != nil {
		return out, err
	}
	wanted := map[string]bool{}
	for _, word := range in.Status {
		wanted[word] = true
	}
	out.Sessions = []sessionRow{}
	return out, s.Use(ctx, func(e *engine.Engine) error {
		all, err := e.Sessions()
		if err != nil {
			return err
		}
		for _, i := range all {
			row := sessionRow{Session: i.Session, Status: screen.StatusWord(i.Status, i.Crashed), Stage: i.Stage, Waiting: i.Waiting, Modified: i.Modified}
			switch {
			case len(wanted) > 0 && !wanted[row.Status]:
			case len(out.Sessions) == limit:
				out.LeftOut++
			default:
				out.Sessions = append(out.Sessions, row)
			}
		}
		return nil
	})
}

// number returns the value, or the default if it is 0.
func number(name string, value, few, most int) (int, error) {
	switch {
	case value == 0:
		return few, nil
	case value < 0 || value > most:
		return 0, wrong(fmt.Sprintf("%s cannot be %d", name, value), fmt.Sprintf("give a number from 1 to %d, or leave it out", most))
	default:
		return value, nil
	}
}

// sessionArgument is the argument that nearly every tool has.
type sessionArgument struct {
	Session string `json:"session" jsonschema:"the session's name"`
}

type statusIn struct {
	sessionArgument
	WaitSeconds int `json:"wait_seconds,omitempty" jsonschema:"wait so long at most for the session to rest or to ask, 0 to 300; default 0"`
}

type statusOut struct {
	Session   string   `json:"session"`
	Status    string   `json:"status" jsonschema:"running, paused, failed, crashed (its process is gone), completed, aborted, pending or unknown"`
	Owned     bool     `json:"held" jsonschema:"a process works on it now"`
	Reason    string   `json:"reason,omitempty"`
	Stage     string   `json:"stage,omitempty"`
	Iteration int      `json:"iteration,omitempty"`
	Waiting   []string `json:"waiting,omitempty" jsonschema:"ids of the unanswered questions; the tool questions shows them"`
	LastEvent int64    `json:"last_event" jsonschema:"number of its last event, for the tool events"`
	Next      []string `json:"next" jsonschema:"the possible next steps"`
	Detail    any      `json:"detail" jsonschema:"all that is known, as agent-pipelines status --json prints it"`
}

func (s *server) status(ctx context.Context, c call, in statusIn) (out statusOut, err error) {
	if in.WaitSeconds < 0 || in.WaitSeconds > mostWait {
		return out, wrong(fmt.Sprintf("wait_seconds cannot be %d", in.WaitSeconds), fmt.Sprintf("give a number from 0 to %d", mostWait))
	}
	return out, s.Use(ctx, func(e *engine.Engine) error {
		st, err := e.Status(in.Session)
		if err == nil && in.WaitSeconds > 0 && st.Locked {
			if err = s.awaitRest(ctx, e, in.Session, time.Duration(in.WaitSeconds)*time.Second, c); err == nil {
				st, err = e.Status(in.Session)
			}
		}
		if err != nil {
			return err
		}
		out = s.newStatus(st)
		return nil
	})
}

func (s *server) newStatus(st *engine.Status) statusOut {
	out := statusOut{
		Session: st.Session, Status: screen.StatusWord(st.Status, st.Crashed), Owned: st.Locked, Reason: st.Reason, Stage: st.Stage, Iteration: st.Iteration,
		Waiting: unanswered(st), LastEvent: st.Events, Detail: st,
	}
	out.Next = s.next(out)
	return out
}

// unanswered returns the ids of the unanswered questions.
func unanswered(st *engine.Status) []string {
	var ids []string
	for _, q := range st.Questions {
		if q.Answer == nil {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// next lists the possible next steps with a session by the offered tools.
func (s *server) next(st statusOut) []string {
	next := []string{}
	say := func(when bool, text string) {
		if when {
			next = append(next, text)
		}
	}
	asks := len(st.Waiting) > 0
	rests := !st.Owned && (st.Status == string(state.Paused) || st.Status == string(state.Failed) || st.Status == "crashed")
	say(asks, "questions shows its questions")
	say(asks && s.Level.approves(), "approve or reject answers, with the digest that questions shows")
	say(asks && !s.Level.approves(), "the user answers, by the commands that questions shows")
	say(st.Owned && !asks, "status with wait_seconds waits until it rests or asks; events shows its progress")
	say(rests && st.Status != string(state.Paused), "why explains it")
	say(rests && !asks && s.Level.runs(), "resume continues it")
	say(rests && !asks && !s.Level.runs(), "the user continues it with agent-pipelines resume "+st.Session)
	say(st.Status == string(state.Completed), "artifacts lists its artifacts")
	return next
}

type whyIn struct {
	sessionArgument
	Limit int `json:"limit,omitempty" jsonschema:"how many of the things that led to it, 1 to 200; default 20"`
}

func (s *server) why(ctx context.Context, _ call, in whyIn) (out why.Explanation, err error) {
	limit, err := number("limit", in.Limit, fewLinks, mostLinks)
	if err != nil {
		return out, err
	}
	return out, s.Use(ctx, func(e *engine.Engine) error {
		if out, err = s.Why(e, in.Session); err != nil {
			return err
		}
		if n := len(out.Chain); n > limit {
			out.LeftOut += n - limit
			out.Chain = out.Chain[:limit]
		}
		return nil
	})
}

// errEnough ends the reading of a journal early.
var errEnough = errors.New("enough")

// awaitRest waits, at most for long, until no process works on a session, or until the session waits for an answer while
// its process stays. A session that is about to pause for its question is not at rest yet.
func (s *server) awaitRest(ctx context.Context, e *engine.Engine, session string, long time.Duration, c call) error {
	shown := 0
	return s.follow(ctx, e, session, 1, long, func(u engine.Update) bool {
		shown++
		c.progress(shown, s.Clean(screen.Details(*u.Event)))
		return u.State.AwaitsUser()
	})
}

// follow watches a session, beginning with its last lines, for at most long. It ends earlier if enough
// returns true, no process works on the session, or the client has left.
func (s *server) follow(ctx context.Context, e *engine.Engine, session string, lines int, long time.Duration, enough func(engine.Update) bool) error {
	watched, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	defer s.whenLeft(cancel)()
	err := e.Follow(watched, session, lines, func(u engine.Update) error {
		if enough(u) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) || watched.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}
