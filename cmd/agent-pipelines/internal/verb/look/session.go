package look

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/bundle"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/why"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Session is the verb `session` with its subcommands.
type Session struct {
	History sessionHistoryVerb `cmd:"" help:"List the visits of all stages in order."`
	Verify  sessionVerifyVerb  `cmd:"" help:"Check whether a journal was changed."`
	Remove  sessionRemoveVerb  `cmd:"" name:"rm" help:"Remove sessions with all their files."`
	Prune   sessionPruneVerb   `cmd:"" help:"Remove all sessions that ended long ago."`
}

// sessionRemoveVerb is the verb `session rm <name>...`.
type sessionRemoveVerb struct {
	Sessions []string `arg:"" name:"session" help:"The sessions to remove."`
	Yes      bool     `short:"y" help:"Do not ask."`
}

// Run implements [cli.Verb].
func (v *sessionRemoveVerb) Run(ctx context.Context, a *cli.App) error {
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		all, err := e.Sessions()
		if err != nil {
			return err
		}
		var chosen []engine.SessionInfo
		for _, name := range slices.Compact(slices.Sorted(slices.Values(v.Sessions))) {
			one, err := findSession(e, all, name)
			if err != nil {
				return err
			}
			chosen = append(chosen, one)
		}
		return removeSessions(ctx, a, e, chosen, v.Yes)
	})
}

// findSession returns the entry of a session in a list.
func findSession(e *engine.Engine, all []engine.SessionInfo, name string) (engine.SessionInfo, error) {
	if i := slices.IndexFunc(all, func(s engine.SessionInfo) bool { return s.Session == name }); i >= 0 {
		return all[i], nil
	}
	_, err := e.Status(name) // its error describes an invalid name better
	return engine.SessionInfo{}, cmp.Or(err, cli.UsageError(fmt.Sprintf("'%s' is not a session of this directory", name), "%s list shows them", cli.Program))
}

// sessionPruneVerb is the verb `session prune`.
type sessionPruneVerb struct {
	Older  cli.Age  `default:"30d" placeholder:"AGE" help:"Remove only sessions unchanged for this time, such as 30d, 2w or 36h (default 30d)."`
	Status []string `default:"completed,aborted" placeholder:"STATUS" help:"Remove only sessions with one of these statuses (default completed,aborted)."`
	DryRun bool     `help:"List the sessions without removing them."`
	Yes    bool     `short:"y" help:"Do not ask."`
}

// Run implements [cli.Verb].
func (v *sessionPruneVerb) Run(ctx context.Context, a *cli.App) error {
	if err := checkStatuses(v.Status); err != nil {
		return err
	}
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		all, err := e.Sessions()
		if err != nil {
			return err
		}
		before := time.Now().Add(-time.Duration(v.Older))
		chosen := slices.DeleteFunc(all, func(s engine.SessionInfo) bool {
			return !s.Modified.Before(before) || !slices.Contains(v.Status, screen.StatusWord(s.Status, s.Crashed)) || isHeld(e, s.Session)
		})
		if v.DryRun {
			return reportRemoved(a, nil, chosen)
		}
		return removeSessions(ctx, a, e, chosen, v.Yes)
	})
}

// isHeld reports whether a process runs a session. It is false for an unreadable session, whose removal returns the error.
func isHeld(e *engine.Engine, session string) bool {
	s, err := e.Status(session)
	return err == nil && s.Locked
}

// removeSessions removes sessions after a confirmation by the user.
func removeSessions(ctx context.Context, a *cli.App, e *engine.Engine, chosen []engine.SessionInfo, yes bool) error {
	if len(chosen) > 0 && !yes {
		agreed, err := confirmRemoval(a, chosen)
		if err != nil || !agreed {
			if err == nil && a.JSON {
				err = reportRemoved(a, nil, nil)
			}
			return err
		}
	}
	var removed []engine.SessionInfo
	var errs []error
	for _, s := range chosen {
		if err := e.RemoveSession(ctx, s.Session); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, s)
	}
	if len(errs) == 0 || len(removed) > 0 && !a.JSON { // with --json only one object: the error
		errs = append(errs, reportRemoved(a, removed, nil))
	}
	return errors.Join(errs...)
}

// confirmRemoval asks the user at the terminal for confirmation. Without a terminal it is an error.
func confirmRemoval(a *cli.App, chosen []engine.SessionInfo) (bool, error) {
	if !a.Interactive() {
		return false, cli.UsageError(fmt.Sprintf("removing %s needs a confirmation, and there is no terminal", screen.Plural(len(chosen), "session")),
			"add --yes")
	}
	writeSessions(a.Stderr, chosen, time.Now())
	fmt.Fprintf(a.Stderr, "\nRemove %s with all files? [y/N] ", screen.Plural(len(chosen), "session"))
	answer, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	agreed := slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
	if !agreed {
		fmt.Fprintln(a.Stderr, "Nothing was removed.")
	}
	return agreed, nil
}

// reportRemoved prints the removed sessions, and the sessions that would be removed.
func reportRemoved(a *cli.App, removed, would []engine.SessionInfo) error {
	return a.Print(document.RemovedSessions{Removed: sessionNames(removed), Would: sessionNames(would)}, func(to io.Writer) {
		for _, s := range removed {
			fmt.Fprintf(to, "Removed session '%s' (%s)\n", s.Session, screen.StatusWord(s.Status, s.Crashed))
		}
		for _, s := range would {
			fmt.Fprintf(to, "Would remove session '%s' (%s, changed %s ago)\n", s.Session, screen.StatusWord(s.Status, s.Crashed), screen.Age(time.Since(s.Modified)))
		}
		if len(removed)+len(would) == 0 {
			fmt.Fprintln(to, "No sessions to remove.")
		}
	})
}

func sessionNames(sessions []engine.SessionInfo) []string {
	list := []string{}
	for _, s := range sessions {
		list = append(list, s.Session)
	}
	return list
}

// listCount is the default number of listed sessions, as in the Bash engine.
const listCount = 10

// List is the verb `list [count]`.
type List struct {
	Count  *uint32  `arg:"" optional:"" help:"Number of sessions, the newest first; 0: all (default 10)."`
	Limit  *uint32  `placeholder:"N" help:"Same as count, as a flag."`
	Status []string `placeholder:"STATUS" help:"List only sessions with one of these statuses, such as running,crashed."`
}

// Run implements [cli.Verb].
func (v *List) Run(ctx context.Context, a *cli.App) error {
	if err := checkStatuses(v.Status); err != nil {
		return err
	}
	var sessions []engine.SessionInfo
	return cli.Show(ctx, a, func(e *engine.Engine) (document.Sessions, error) {
		var err error
		sessions, err = e.Sessions()
		if len(v.Status) > 0 {
			sessions = slices.DeleteFunc(sessions, func(s engine.SessionInfo) bool {
				return !slices.Contains(v.Status, screen.StatusWord(s.Status, s.Crashed))
			})
		}
		if limit := v.limit(); limit > 0 && len(sessions) > limit {
			sessions = sessions[:limit]
		}
		all := document.Sessions{Sessions: []document.Session{}}
		for _, s := range sessions {
			all.Sessions = append(all.Sessions, document.Session{SessionInfo: s, Tampered: tamperedText(ctx, e, s)})
		}
		return all, err
	}, func(to io.Writer, all document.Sessions) {
		writeSessions(to, sessions, time.Now())
		for _, s := range all.Sessions {
			if s.Tampered != "" {
				fmt.Fprintf(to, "\n%s\n", screen.Clean(why.TamperedText(s.Tampered, cli.Program+" session verify "+s.Session)))
			}
		}
	})
}

// tamperedText says how the journal of a session that has not ended was changed, "" if it was not.
func tamperedText(ctx context.Context, e *engine.Engine, s engine.SessionInfo) string {
	if s.Status == "" || s.Status.Final() {
		return ""
	}
	if v, err := e.Verify(ctx, s.Session, false); err == nil {
		if err := v.Refusal(); err != nil {
			return err.Error()
		}
	}
	return ""
}

func (v *List) limit() int {
	if n := cmp.Or(v.Limit, v.Count); n != nil {
		return int(*n)
	}
	return listCount
}

// StatusWords lists the values of [screen.StatusWord].
var StatusWords = []string{
	string(state.Running), string(state.Paused), string(state.Failed), screen.StatusCrashed, string(state.Completed),
	string(state.Aborted), string(state.Pending), screen.StatusUnknown,
}

// checkStatuses returns an error for a word that is not in StatusWords.
func checkStatuses(words []string) error {
	for _, word := range words {
		if !slices.Contains(StatusWords, word) {
			return cli.UsageError(fmt.Sprintf("no session has the status '%s'", word), "%sthe statuses are %s", cli.DidYouMean(word, StatusWords), strings.Join(StatusWords, ", "))
		}
	}
	return nil
}

// stageText returns a session's current stage, with the run if there are several, and its open questions.
func stageText(s engine.SessionInfo) string {
	text := screen.Clean(s.Stage)
	if runs := RunText(s.Run, s.Runs); runs != "" {
		text += " (run " + runs + ")"
	}
	if n := len(s.Waiting); n > 0 {
		text += fmt.Sprintf(" (waiting for you: %s)", screen.Clean(strings.Join(s.Waiting, ", ")))
	}
	return strings.TrimSpace(text)
}

// writeSessions writes a table of sessions; now is the current time.
func writeSessions(to io.Writer, sessions []engine.SessionInfo, now time.Time) {
	if len(sessions) == 0 {
		fmt.Fprintln(to, "No pipeline runs found.")
		return
	}
	const columns = "  %-*s %-10s %-12s %s\n"
	width := cli.NameWidth(sessions, func(s engine.SessionInfo) string { return s.Session })
	fmt.Fprintf(to, "Recent pipeline runs:\n\n"+columns, width, "SESSION", "STATUS", "AGE", "STAGE")
	for _, s := range sessions {
		fmt.Fprintf(to, columns, width, s.Session, screen.StatusWord(s.Status, s.Crashed), screen.Age(now.Sub(s.Modified))+" ago", stageText(s))
	}
}

// sessionHistoryVerb is the verb `session history <session>`.
type sessionHistoryVerb struct {
	Session string `arg:"" help:"The session."`
	Cycles  bool   `help:"Show only returns to earlier stages."`
}

// Run implements [cli.Verb].
func (v *sessionHistoryVerb) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (*engine.History, error) {
		h, err := e.History(v.Session)
		if err == nil && v.Cycles {
			h.Visits = slices.DeleteFunc(h.Visits, func(v engine.Visit) bool { return v.Edge == "" })
		}
		return h, err
	}, func(to io.Writer, h *engine.History) {
		if h.Damage != "" {
			fmt.Fprintln(a.Stderr, "Parts of the history cannot be read: "+screen.Clean(h.Damage))
		}
		writeHistory(to, h)
	})
}

// writeHistory writes a row for every visit.
func writeHistory(to io.Writer, h *engine.History) {
	if len(h.Visits) == 0 {
		fmt.Fprintf(to, "Session '%s' has no visits to show.\n", h.Session)
		return
	}
	table := cli.NewTable(to, "STARTED\tSTAGE\tVISIT\tOUTCOME\tTIME\tATTEMPTS\tRETRIES\tSTAGE RETRIES\tNEXT\tREASON")
	for _, v := range h.Visits {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n",
			v.StartedAt.Local().Format(time.DateTime), screen.Clean(v.Stage), visitText(v), outcomeText(v, h.Status), durationText(v.DurationMS),
			v.Attempts, v.Retries, v.StageRetries, nextText(v), screen.Cut(screen.Clean(v.Reason), reasonWidth))
	}
	table.End()
}

// outcomeText returns a visit's outcome or status. An unfinished visit has the status of its session.
func outcomeText(v engine.Visit, session state.Status) string {
	if v.Status == string(state.NodeRunning) && session != state.Running {
		return string(session)
	}
	return cmp.Or(v.Outcome, v.Status)
}

// visitText returns the number of a visit, with the number of the pipeline's run if it is not the first.
func visitText(v engine.Visit) string {
	if v.Run > 1 {
		return fmt.Sprintf("%d (run %d)", v.Visit, v.Run)
	}
	return fmt.Sprint(v.Visit)
}

// nextText returns the node after a visit: "execute (cycle 1/3)".
func nextText(v engine.Visit) string {
	switch {
	case v.Edge != "":
		return fmt.Sprintf("%s (cycle %d/%d)", screen.Clean(v.To), v.Cycle, v.Limit)
	case v.To == "":
		return "-"
	default:
		return screen.Clean(v.To)
	}
}

// sessionVerifyVerb is the verb `session verify <session>`.
type sessionVerifyVerb struct {
	Session string `arg:"" help:"The session."`
	Accept  bool   `help:"Accept the journal as it is, so that the session can be resumed."`
}

// Help returns the text below the usage.
func (sessionVerifyVerb) Help() string {
	return "Each line of a journal has the digest of the line before. The digest of the last line is kept, signed, in your state directory. " +
		"The command finds lines that were edited, cut, reordered, added or recomputed. Lines of the Bash engine and of older versions are " +
		"counted as unchained. Exit code 0: the journal is whole, or --accept accepts it; 22: it was changed. See docs/run-files.md."
}

// Run implements [cli.Verb].
func (v *sessionVerifyVerb) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (*engine.Verification, error) {
		r, err := e.Verify(ctx, v.Session, v.Accept)
		if err == nil && !r.Intact && !r.Accepted {
			a.Code = cli.ExitEscalation
		}
		return r, err
	}, writeVerification, func(r *engine.Verification) []string {
		if r.Intact || r.Accepted {
			return nil
		}
		return []string{cli.Program + " session verify " + r.Session + " --accept"}
	})
}

// keyText names the owner of a key.
func keyText(k engine.Key) string {
	if k.Name == "" {
		return "your key"
	}
	return "the key " + k.Name
}

// writeVerification writes the result of a check as text.
func writeVerification(to io.Writer, r *engine.Verification) {
	for _, b := range r.Breaks {
		fmt.Fprintf(to, "%s:%d: %s (%s)\n", r.Journal, max(b.Line, 1), screen.Clean(b.Message), b.Kind)
	}
	if more := r.BreakCount - len(r.Breaks); more > 0 {
		fmt.Fprintf(to, "... and %s more\n", screen.Plural(more, "break"))
	}
	fmt.Fprintf(to, "Chained:   %s", screen.Plural(r.Chained, "line"))
	if r.Chained > 0 {
		fmt.Fprintf(to, ", events %d to %d", r.FirstChained, r.LastChained)
	}
	fmt.Fprintf(to, "\nUnchained: %s\n", screen.Plural(r.Unchained, "line"))
	if r.AcceptedBreaks > 0 {
		fmt.Fprintf(to, "Accepted:  %s\n", screen.Plural(r.AcceptedBreaks, "break"))
	}
	switch {
	case r.SignedBy != nil:
		fmt.Fprintf(to, "Head:      matches, by the copy in the session, signed with %s\n", keyText(*r.SignedBy))
	case r.HeadMatches:
		fmt.Fprintln(to, "Head:      matches")
	}
	switch {
	case r.Accepted:
		fmt.Fprintf(to, "The journal of session '%s' is accepted as it is.\n", r.Session)
	case r.LacksHeadOnly():
		fmt.Fprintf(to, "The lines fit each other. Without a head, lines that are missing at the end cannot be seen. A project that was moved or copied has none; the next resume keeps one.\n")
	case r.Intact && r.Chained == 0:
		fmt.Fprintf(to, "The journal of session '%s' has no chain: the next resume begins one.\n", r.Session)
	case r.Intact:
		fmt.Fprintf(to, "The journal of session '%s' is whole.\n", r.Session)
	default:
		fmt.Fprintf(to, "The journal is not as it was left (AP-TAMPER-001). Another program changed it, or it was restored from a backup, or continued from another\n"+
			"machine or state directory. `%s session verify %s --accept` accepts it as it is.\n", cli.Program, r.Session)
		if r.UntrustedKey != "" {
			fmt.Fprintf(to, "If its owner gave you this key, `%s keys trust %s` trusts it.\n", cli.Program, r.UntrustedKey)
		}
		if bundle.JournalAsExported(r.Journal) {
			fmt.Fprintln(to, "The journal is as an export wrote it, which took secrets out of its lines: MANIFEST.json has its digest.")
		}
	}
}
