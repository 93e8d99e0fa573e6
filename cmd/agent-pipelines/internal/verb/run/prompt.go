package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/look"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// prompter prompts the user at the terminal for answers to the questions of a running session, one after the other. A nil
// *prompter does nothing. It is safe for concurrent use.
type prompter struct {
	app    *cli.App
	engine *engine.Engine
	out    *screen.BoundedWriter
	view   view
	keys   *lineReader

	changed chan struct{} // capacity 1: the state has changed
	end     context.CancelCauseFunc
	asking  sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	session  string
	latest   *state.State
	shown    shownQuestion           // the question on the terminal
	withdraw context.CancelCauseFunc // withdraws the open question; nil for none
	done     map[shownQuestion]bool  // questions answered or skipped here
}

// shownQuestion identifies a question in the version that was shown.
type shownQuestion struct{ id, digest string }

var (
	errElsewhere = errors.New("the question is no longer open")
	errPausing   = errors.New("the session stops here; the question stays open")
	errRunEnded  = errors.New("the run has ended")
)

// start starts to prompt and returns k if a user is at the terminal, else it returns nil. The caller closes k.
func (k *prompter) start(ctx context.Context, wait bool) *prompter {
	in := userKeyboard(k.app)
	if in == nil || k.app.Quiet || k.app.Unattended && !wait {
		return nil
	}
	k.keys, k.changed, k.done = newLineReader(in), make(chan struct{}, 1), map[shownQuestion]bool{}
	ctx, k.end = context.WithCancelCause(ctx)
	k.asking.Go(func() { k.run(ctx) })
	return k
}

// userKeyboard returns standard input if it and standard error are terminals, else nil. A background job of the shell must not
// read from it.
func userKeyboard(a *cli.App) *os.File {
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

// observe records the session's state, and withdraws the open question if it no longer needs an answer.
func (k *prompter) observe(u engine.Update) {
	if k == nil || u.State == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.session, k.latest = u.Session, u.State
	if k.withdraw != nil && !needsAnswer(u.State, k.shown) {
		k.withdraw(withdrawReason(u.State, k.shown))
	}
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// needsAnswer reports whether the session waits for an answer to the question.
func needsAnswer(st *state.State, q shownQuestion) bool {
	open, found := st.Questions[q.id]
	return found && open.Answer == nil && open.Digest == q.digest && st.Status == state.Running && st.Stop == nil
}

// withdrawReason returns the reason why the terminal no longer shows a question.
func withdrawReason(st *state.State, q shownQuestion) error {
	open, found := st.Questions[q.id]
	if found && open.Answer == nil && open.Digest == q.digest && !st.Status.Final() && (st.Stop == nil || st.Stop.Action != "abort") {
		return errPausing
	}
	return errElsewhere
}

func (k *prompter) close() {
	if k == nil {
		return
	}
	k.end(errRunEnded)
	k.asking.Wait()
}

func (k *prompter) run(ctx context.Context) {
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
			k.ask(one, next)
		}
	}
}

// next returns the oldest open question that was not answered or skipped here. The context ends when
// the question is withdrawn.
func (k *prompter) next(ctx context.Context) (context.Context, shownQuestion, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var first shownQuestion
	for _, id := range k.latest.UnansweredQuestions() {
		q := shownQuestion{id, k.latest.Questions[id].Digest}
		if needsAnswer(k.latest, q) && !k.done[q] && (first.id == "" || k.latest.Questions[id].AskedAt.Before(k.latest.Questions[first.id].AskedAt)) {
			first = q
		}
	}
	if first.id == "" || ctx.Err() != nil {
		return nil, first, false
	}
	ctx, k.withdraw = context.WithCancelCause(ctx)
	k.shown = first
	return ctx, first, true
}

// ask prompts for one question until it is answered, skipped or withdrawn.
func (k *prompter) ask(ctx context.Context, shown shownQuestion) {
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.withdraw(nil)
		k.withdraw, k.done[shown] = nil, true
	}()
	q, err := k.find(shown)
	if err != nil {
		k.view.WriteLine(err.Error())
		return
	}
	k.view.Hold()
	defer k.view.Release()
	fmt.Fprintln(k.out)
	writeQuestion(k.out, q, time.Now())
	for done := false; !done; {
		fmt.Fprint(k.out, answerPrompt(q))
		line, err := k.keys.readLine(ctx)
		switch {
		case ctx.Err() != nil:
			fmt.Fprintf(k.out, "\n(%v)\n", context.Cause(ctx))
			return
		case err != nil: // Ctrl-D, or the terminal is gone
			fmt.Fprintln(k.out)
			k.skip(q)
			return
		}
		done = k.handleInput(ctx, q, line)
	}
}

// find returns the shown question with its details.
func (k *prompter) find(shown shownQuestion) (engine.Question, error) {
	k.mu.Lock()
	session := k.session
	k.mu.Unlock()
	all, err := k.engine.Questions(session)
	for _, q := range all {
		if q.ID == shown.id && q.Digest == shown.digest {
			return q, nil
		}
	}
	return engine.Question{}, err
}

// handleInput executes the user's input and reports whether the question is done.
func (k *prompter) handleInput(ctx context.Context, q engine.Question, line string) bool {
	switch word := strings.TrimSpace(line); {
	case equalsAny(word, "a", "approve", "y", "yes"):
		return k.answer(ctx, q, event.AnswerApprove, "")
	case equalsAny(word, "s", "skip") && q.Kind == event.QuestionTool: // skips the call, not the question
		return k.answer(ctx, q, event.AnswerSkip, "")
	case equalsAny(word, "d", look.Deny) && q.Kind == event.QuestionTool:
		return k.answer(ctx, q, event.AnswerReject, "")
	case equalsAny(word, "r", "reject", "n", "no"):
		sure := q.Kind == event.QuestionTool || k.confirm(ctx, "This ends the session for good.")
		return sure && k.answer(ctx, q, event.AnswerReject, "")
	case equalsAny(word, "s", "skip"):
		k.skip(q)
		return true
	case equalsAny(word, "v", "view"):
		k.show(q)
	case equalsAny(word, "f", "feedback") && q.AcceptFeedback:
		fmt.Fprint(k.out, "Feedback for the agent (empty: none): ")
		text, err := k.keys.readLine(ctx)
		if text = strings.TrimSpace(text); err == nil && text != "" {
			return k.answer(ctx, q, event.AnswerReject, text)
		}
	case q.AcceptFeedback && strings.ContainsAny(word, " \t"): // a sentence is feedback (REQUIREMENTS U251)
		return k.answer(ctx, q, event.AnswerReject, word)
	case word != "":
		fmt.Fprintf(k.out, "%q is not one of the choices.\n", word)
	}
	return false
}

func equalsAny(word string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(word, name) })
}

func (k *prompter) confirm(ctx context.Context, warning string) bool {
	fmt.Fprint(k.out, warning+" Sure? [y/N] ")
	line, err := k.keys.readLine(ctx)
	return err == nil && equalsAny(strings.TrimSpace(line), "y", "yes")
}

func (k *prompter) answer(ctx context.Context, q engine.Question, word, text string) bool {
	err := k.engine.Answer(ctx, engine.AnswerOptions{
		Session: q.Session, Question: q.ID, Answer: word, Text: text, Digest: q.Digest, By: k.app.User(),
	})
	if err != nil {
		cli.NewFault(err).Print(k.out)
	}
	return err == nil || ctx.Err() != nil
}

// skip leaves the question open and pauses the session.
func (k *prompter) skip(q engine.Question) {
	kind := state.PauseApproval
	if q.Kind == event.QuestionEscalation {
		kind = state.PauseEscalation
	}
	k.engine.Stop(q.Session, kind, q.Text)
}

// show shows the files of a question.
func (k *prompter) show(q engine.Question) {
	if len(q.Files) == 0 {
		fmt.Fprintln(k.out, "The question has no files.")
		return
	}
	for _, name := range q.Files {
		fmt.Fprintln(k.out, "\n"+screen.Clean(name)+":")
		if err := printFile(k.out, name); err != nil {
			fmt.Fprintln(k.out, err)
		}
	}
}
