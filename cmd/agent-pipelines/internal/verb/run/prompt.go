package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/keyboard"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/look"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// asker puts the questions of a session that runs here to the person at the terminal, one after the other. A nil one
// asks nobody. It is safe for concurrent use.
type asker struct {
	app    *cli.App
	engine *engine.Engine
	out    *screen.Relay
	view   view
	watch  *cli.Watch
	keys   *keyboard.Reader

	changed chan struct{} // holds one
	end     context.CancelCauseFunc
	asking  sync.WaitGroup

	mu      sync.Mutex // guards:
	session string
	latest  *state.State
	open    posed                   // the question that is on the terminal now
	gone    context.CancelCauseFunc // takes it away
	done    map[posed]bool          // those that were answered or skipped here
}

// posed is a question as it was shown.
type posed struct{ id, digest string }

var (
	errElsewhere = errors.New("the question is not open any more")
	errPausing   = errors.New("the session stops here; the question stays open")
	errRunEnded  = errors.New("the run has ended")
)

// newAsker begins to ask, if somebody is there to be asked. The caller closes it.
func newAsker(a *cli.App, ctx context.Context, e *engine.Engine, out *screen.Relay, v view, w *cli.Watch, wait bool) *asker {
	in := attended(a)
	if in == nil || a.Quiet || a.Unattended && !wait {
		return nil
	}
	ask := &asker{
		app: a, engine: e, out: out, view: v, watch: w, keys: keyboard.New(in),
		changed: make(chan struct{}, 1), done: map[posed]bool{},
	}
	ctx, ask.end = context.WithCancelCause(ctx)
	ask.asking.Go(func() { ask.run(ctx) })
	return ask
}

// attended is the keyboard of the person who sees standard error, nil if there is none. A job in the background of
// its shell must not read from it.
func attended(a *cli.App) *os.File {
	in, reads := a.Stdin.(*os.File)
	out, writes := a.Stderr.(*os.File)
	if !reads || !writes || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil
	}
	if group, err := unix.IoctlGetInt(int(in.Fd()), unix.TIOCGPGRP); err == nil && group != unix.Getpgrp() {
		return nil
	}
	return in
}

// observe follows the session.
func (k *asker) observe(u engine.Update) {
	if k == nil || u.State == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.session, k.latest = u.Session, u.State
	if k.gone != nil && !asks(u.State, k.open) {
		k.gone(whyGone(u.State, k.open))
	}
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// asks reports whether the session waits for the answer to a question.
func asks(st *state.State, q posed) bool {
	open, found := st.Questions[q.id]
	return found && open.Answer == nil && open.Digest == q.digest && st.Status == state.Running && st.Stop == nil
}

// whyGone says why a question is not asked here any more.
func whyGone(st *state.State, q posed) error {
	open, found := st.Questions[q.id]
	if found && open.Answer == nil && open.Digest == q.digest && !st.Status.Final() && (st.Stop == nil || st.Stop.Action != "abort") {
		return errPausing
	}
	return errElsewhere
}

func (k *asker) close() {
	if k == nil {
		return
	}
	k.end(errRunEnded)
	k.asking.Wait()
}

func (k *asker) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.changed:
		}
		for {
			one, next, ok := k.next(ctx)
			if !ok {
				break
			}
			k.put(one, next)
		}
	}
}

// next is the question that has been open longest and was not settled here. The context ends when it is gone.
func (k *asker) next(ctx context.Context) (context.Context, posed, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var first posed
	for _, id := range k.latest.Awaited() {
		q := posed{id, k.latest.Questions[id].Digest}
		if asks(k.latest, q) && !k.done[q] && (first.id == "" || k.latest.Questions[id].AskedAt.Before(k.latest.Questions[first.id].AskedAt)) {
			first = q
		}
	}
	if first.id == "" || ctx.Err() != nil {
		return nil, first, false
	}
	ctx, k.gone = context.WithCancelCause(ctx)
	k.open = first
	return ctx, first, true
}

// put asks one question, until it is settled here or elsewhere.
func (k *asker) put(ctx context.Context, what posed) {
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.gone(nil)
		k.gone, k.done[what] = nil, true
	}()
	q, err := k.find(what)
	if err != nil {
		k.view.Say(err.Error())
		return
	}
	k.view.Hold()
	defer k.view.Release()
	fmt.Fprintln(k.out)
	writeAsked(k.out, q, time.Now())
	for settled := false; !settled; {
		fmt.Fprint(k.out, choices(q))
		line, err := k.keys.Line(ctx)
		switch {
		case ctx.Err() != nil:
			fmt.Fprintf(k.out, "\n(%v)\n", context.Cause(ctx))
			return
		case err != nil: // Ctrl-D, or the terminal is gone
			fmt.Fprintln(k.out)
			k.skip(q)
			return
		}
		settled = k.heed(ctx, q, line)
	}
}

// find is the question with what belongs to it.
func (k *asker) find(what posed) (engine.Question, error) {
	k.mu.Lock()
	session := k.session
	k.mu.Unlock()
	all, err := k.engine.Questions(session)
	for _, q := range all {
		if q.ID == what.id && q.Digest == what.digest {
			return q, nil
		}
	}
	return engine.Question{}, err
}

// heed does what was typed and reports whether that settles the question.
func (k *asker) heed(ctx context.Context, q engine.Question, line string) bool {
	switch word := strings.TrimSpace(line); {
	case is(word, "a", "approve", "y", "yes"):
		return k.answer(ctx, q, event.AnswerApprove, "")
	case is(word, "s", "skip") && q.Kind == event.QuestionTool: // of a call, not of the question
		return k.answer(ctx, q, event.AnswerSkip, "")
	case is(word, "d", look.Deny) && q.Kind == event.QuestionTool:
		return k.answer(ctx, q, event.AnswerReject, "")
	case is(word, "r", "reject", "n", "no"):
		sure := q.Kind == event.QuestionTool || k.yes(ctx, "This ends the session for good.")
		return sure && k.answer(ctx, q, event.AnswerReject, "")
	case is(word, "s", "skip"):
		k.skip(q)
		return true
	case is(word, "v", "view"):
		k.show(ctx, q)
	case is(word, "f", "feedback") && q.AcceptFeedback:
		fmt.Fprint(k.out, "What shall the agent know? (empty: nothing) ")
		text, err := k.keys.Line(ctx)
		if text = strings.TrimSpace(text); err == nil && text != "" {
			return k.answer(ctx, q, event.AnswerReject, text)
		}
	case q.AcceptFeedback && strings.ContainsAny(word, " \t"): // a sentence is feedback (REQUIREMENTS U251)
		return k.answer(ctx, q, event.AnswerReject, word)
	case word != "":
		fmt.Fprintf(k.out, "%q is none of these.\n", word)
	}
	return false
}

func is(word string, names ...string) bool {
	for _, name := range names {
		if strings.EqualFold(word, name) {
			return true
		}
	}
	return false
}

func (k *asker) yes(ctx context.Context, what string) bool {
	fmt.Fprint(k.out, what+" Sure? [y/N] ")
	line, err := k.keys.Line(ctx)
	return err == nil && is(strings.TrimSpace(line), "y", "yes")
}

func (k *asker) answer(ctx context.Context, q engine.Question, word, text string) bool {
	err := k.engine.Answer(ctx, engine.AnswerOptions{
		Session: q.Session, Question: q.ID, Answer: word, Text: text, Digest: q.Digest, By: k.app.User(),
	})
	if err != nil {
		cli.FaultOf(err).Print(k.out)
	}
	return err == nil || ctx.Err() != nil
}

// skip leaves the question open and pauses the session.
func (k *asker) skip(q engine.Question) {
	kind := state.PauseApproval
	if q.Kind == event.QuestionEscalation {
		kind = state.PauseEscalation
	}
	k.engine.Stop(q.Session, kind, q.Text)
}
