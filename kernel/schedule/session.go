package schedule

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxHandled is the number of control message ids that a state keeps.
const maxHandled = 100

// decideStop ends or pauses the run once nothing is in flight. A pause lets an attempt finish unless it waits for the
// user; an abort cancels it.
func decideStop(s state.State) []Command {
	if s.Status == state.Running {
		if cmds := cancelInFlight(s); len(cmds) > 0 {
			if s.Stop.Action == "abort" {
				return cmds
			}
			return unansweredCancels(s, cmds)
		}
	}
	if s.Stop.Action == "abort" {
		return record(event.New(event.SessionAborted, currentCursor(s), "",
			event.SessionAbortedData{Reason: s.Stop.Reason, By: s.Stop.By}))
	}
	if s.Status != state.Running {
		return nil
	}
	d := event.SessionPausedData{Kind: string(s.Stop.Kind), Reason: s.Stop.Reason, By: s.Stop.By}
	d.Question, d.Code = deferredEscalation(s)
	return record(event.New(event.SessionPaused, currentCursor(s), "", d))
}

// deferredEscalation returns id and code of the escalation that the run pauses for, empty if it stops for another
// reason.
func deferredEscalation(s state.State) (id, code string) {
	if s.Stop.Kind != state.PauseEscalation {
		return "", ""
	}
	for _, id := range s.UnansweredQuestions() {
		if q := s.Questions[id]; q.Kind == event.QuestionEscalation {
			return id, q.Code
		}
	}
	return "", ""
}

// unansweredCancels returns the cancel commands for attempts that wait for the user: pausing the run does not answer
// their questions.
func unansweredCancels(s state.State, cancels []Command) []Command {
	var cmds []Command
	for _, c := range cancels {
		for _, id := range s.UnansweredQuestions() {
			if q := s.Questions[id]; q.Kind == event.QuestionTool && q.Key == c.Key {
				c.Cause = &event.FailureData{
					ErrorType: string(failure.SignalInterrupt), Message: "the run was paused while a question was open: " + q.Text,
					Remedy: "resume the session to be asked about the call again", ResumeCommand: "agent-pipelines resume " + s.Session,
				}
				cmds = append(cmds, c)
				break
			}
		}
	}
	return cmds
}

func sessionCompleteEvent(p *plan.Plan, s state.State) event.Event {
	reason := "all_loops_complete" // the Bash engine's reason for a finished pipeline
	if s.Mode == "loop" && len(p.Nodes) > 0 {
		reason = s.Nodes[p.Nodes[0].Path].Reason
	}
	d := event.SessionCompleteData{Reason: reason, ExitAfter: exitNode(p, s)}
	return event.New(event.SessionComplete, lastCompletionCursor(p, s), "", d)
}

// exitNode returns the id of the node at which the pipeline ended early, "" if it ran to the end of its list.
func exitNode(p *plan.Plan, s state.State) string {
	i := indexOf(p.Nodes, p.ExitAfter())
	if i < 0 || i == len(p.Nodes)-1 || !s.Nodes[p.Nodes[i].Path].EndedSuccessfully() {
		return ""
	}
	return p.Nodes[i].ID
}

// planMismatchEvent pauses a run whose plan lacks the node that the journal is at.
func planMismatchEvent(s state.State) event.Event {
	return event.New(event.SessionPaused, currentCursor(s), "", event.SessionPausedData{
		Kind: string(state.PauseError), Reason: fmt.Sprintf("plan.json has no node %q, which the journal is at", s.At),
	})
}

// lastCompletionCursor returns the cursor at which the last node ended. For a parallel block it has the iteration of
// the stage before it, as in the Bash engine, which counts no iterations in blocks.
func lastCompletionCursor(p *plan.Plan, s state.State) *event.Cursor {
	var c *event.Cursor
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n, ok := s.Nodes[p.Nodes[i].Path]
		if !ok {
			continue
		}
		cursor := completionCursor(s, p.Nodes[i].Path, n)
		if c == nil {
			c = cursor
		}
		if p.Nodes[i].Kind == plan.KindStage {
			c.NodeRun, c.Iteration = cursor.NodeRun, cursor.Iteration
			return c
		}
	}
	if c == nil {
		c = &event.Cursor{NodePath: "0"}
	}
	return c
}

func currentCursor(s state.State) *event.Cursor {
	if n, ok := s.Nodes[s.At]; ok {
		return n.IterationLocation(s.At).Cursor()
	}
	return &event.Cursor{NodePath: s.At}
}

func applySessionStart(p *plan.Plan, s *state.State, e event.Event) error {
	d, err := event.Decode[event.SessionStartData](e)
	if err != nil {
		return err
	}
	if e.RunID == "" {
		return invalidTransition(e, "no run_id")
	}
	seq, epoch, handled, escalation := e.Seq, s.Epoch, s.Handled, s.Escalation
	*s = state.State{
		Session: e.Session, RunID: e.RunID, Mode: d.Mode, Pipeline: d.Pipeline,
		SchedulerVersion: d.SchedulerVersion, PlanSHA256: d.PlanSHA256, SkipDelays: d.SkipDelays, Providers: d.Providers,
		Seq: seq, Epoch: epoch, Handled: handled, Escalation: escalation, Status: state.Running, StartedAt: e.Time, Nodes: map[string]state.Node{},
		At: p.First(), Input: d.Input, SuppliedArtifacts: d.SuppliedArtifacts,
	}
	if d.Runs > 1 {
		s.Run, s.Runs = 1, d.Runs
	}
	return nil
}

// applyKernelStart begins an epoch: everything that the previous kernel had in flight is cut off.
func applyKernelStart(p *plan.Plan, s *state.State, e event.Event) error {
	if e.Epoch <= s.Epoch {
		return invalidTransition(e, fmt.Sprintf("epoch %d has already begun", s.Epoch))
	}
	d, err := event.Decode[event.KernelStartData](e)
	if err != nil {
		return err
	}
	s.Epoch, s.Callbacks, s.Waits = e.Epoch, d.Callbacks, d.Waits
	if s.Stop != nil && !s.Stop.Hook {
		s.Stop = nil
	}
	clearFiring(s)
	s.DropQuestions(func(q state.Question) bool { return q.Kind == event.QuestionTool }) // of interrupted attempts
	// Sorted, because sums of money depend on the order.
	for _, path := range slices.Sorted(maps.Keys(s.Nodes)) {
		n := s.Nodes[path]
		if n.Status != state.NodeRunning {
			continue
		}
		n.UpdateLoops(path, func(loc event.Location, l *state.Loop) {
			l.HookCursor.Firing = 0
			if l.Phase == state.PhaseAttempt || l.Phase == state.PhaseAsking {
				chargeCutOff(p, s, loc.Node, l)
			}
			l.Recover(p.EffectivePolicy(p.Find(loc.Node)).Recovery)
		})

		s.Nodes[path] = n
	}
	return nil
}

// applyResumed continues a paused, failed or crashed run. It approves what the run had stopped for; a run that
// crashed while it waited keeps waiting.
func applyResumed(p *plan.Plan, s *state.State, e event.Event) error {
	d, err := event.Decode[event.SessionResumedData](e)
	if err != nil {
		return err
	}
	switch {
	case d.ReenterNode != "":
		if err := reenterNode(p, s, d.ReenterNode); err != nil {
			return invalidTransition(e, err.Error())
		}
	case s.Status != state.Running && !s.Status.CanBecome(state.Running):
		return invalidTransition(e, fmt.Sprintf("a session that is %s cannot be resumed", s.Status))
	}
	if d.ResetCycles {
		s.Cycles, s.Returns = nil, 0
	}
	if s.Status != state.Running { // nobody waits for a retry that starts over or runs at once
		maps.DeleteFunc(s.Timers, func(_ event.Key, t state.Timer) bool { return t.Purpose == state.PurposeBackoff })
	}
	if n, ok := s.Nodes[s.At]; ok && d.ReenterNode == "" {
		resumeNode(p, s, n, d)
	}
	if s.Stop != nil && !abortedByHook(*s) && (s.Status != state.Running || !s.Stop.Hook) { // a hook's stop in a run that crashed still counts
		s.Stop = nil
	}
	if s.Status != state.Running {
		s.DropQuestions(func(q state.Question) bool { return q.Kind == event.QuestionEscalation })
	}
	now := e.Time
	s.Status, s.Reason, s.PauseKind, s.PauseReason, s.PauseCode, s.EndedAt, s.Failure, s.ResumedAt = state.Running, "", "", "", "", nil, nil, &now
	s.AppendContext(d.Context)
	return nil
}

// CheckReentry returns why the user cannot restart a node of the pipeline itself, nil if they can: the run has
// stopped at the node, or is complete and has entered it.
func CheckReentry(p *plan.Plan, s state.State, path string) error {
	n, entered := s.Nodes[path]
	node := p.Find(path)
	switch {
	case node == nil || p.Embedder(path) != "":
		return fmt.Errorf("the pipeline has no top-level node at %s", path)
	case !entered:
		return fmt.Errorf("%s has not run yet", node.ID)
	case s.Status == state.Completed:
		return nil
	case s.Status == state.Running || s.Status == state.Aborted:
		return fmt.Errorf("the session is %s", s.Status)
	case s.At != path:
		return fmt.Errorf("the run is at %s", NodeName(p, s, p.Find(s.At)))
	case len(n.EffectsInFlight(path)) > 0:
		return fmt.Errorf("an attempt of %s was interrupted", node.ID)
	}
	return nil
}

// reenterNode continues the run with the node at path, as a new visit.
func reenterNode(p *plan.Plan, s *state.State, path string) error {
	if err := CheckReentry(p, *s, path); err != nil {
		return err
	}
	n := s.Nodes[path]
	n.Restart = &state.Restart{Reason: "restarted by the user", Approved: true}
	s.At, s.Nodes[path] = path, n
	s.HookCursor = s.HookCursor.Reopen(plan.PointSessionEnd)
	return nil
}

// resumeNode continues the node that the run is at: as the user answered if they were asked, else where it failed.
func resumeNode(p *plan.Plan, s *state.State, n state.Node, d event.SessionResumedData) {
	if s.Status == state.Failed {
		n.Status, n.Outcome, n.Reason, n.EndedAt, n.Failure, n.Escalations = state.NodeRunning, "", "", nil, nil, 0
		n.HookCursor, s.HookCursor = n.HookCursor.Reopen(plan.PointStageEnd), s.HookCursor.Reopen(plan.PointSessionEnd)
	}
	without := d.SkipFailedStep && resumeWithoutFailed(p.Find(s.At), &n)
	if without {
		s.DropNodeQuestions(s.At)
	}
	if s.Status != state.Running {
		if !without && !s.EndHooksBegun(n.IterationLocation(s.At), n.HookCursor) && !s.EndHooksBegun(event.Location{}, s.HookCursor) {
			retryFailed(p, *s, &n)
		}
		if _, asked := s.Questions[event.QuestionID(n.RestartKey(s.At))]; asked && n.Restart != nil {
			n.Restart = &state.Restart{Reason: n.Restart.Reason, Approved: true}
		}
	}
	s.Nodes[s.At] = n
	if _, asked := s.Questions[event.QuestionID(n.EscalationKey(s.At))]; asked && s.Status != state.Running {
		approveOverride(p, s, s.At)
	}
}

// retryFailed retries what failed in the node that the run is at.
func retryFailed(p *plan.Plan, s state.State, n *state.Node) {
	if _, asked := s.Questions[event.QuestionID(n.EscalationKey(s.At))]; asked {
		return // approveOverride decides about the whole node
	}
	if n.InputFailure != nil {
		reinspectInput(p.Find(s.At), n)
		return
	}
	if node := p.Find(s.At); node != nil && node.HasContract() && n.Loop.Phase == state.PhaseSettled {
		if n.Approved = p.Route(node, determineOutcome(s, node, *n).outcome).Name != ""; !n.Approved {
			n.StageAttempt = 0
			prepareStageRetry(node, n)
		}
		return
	}
	n.UpdateLoops(s.At, func(loc event.Location, l *state.Loop) {
		if b := n.Branches[loc.Branch]; b.Status == state.NodeRunning && s.EndHooksBegun(loc, b.HookCursor) {
			return
		}
		_, asked := s.Questions[event.QuestionID(l.CutOffKey(loc))]
		l.Resume(asked)
	})

	n.ReopenBranches()
}

// abortedByHook reports whether a hook or a rejection has ended the run and the event that records it is still
// missing.
func abortedByHook(s state.State) bool {
	return s.Stop != nil && s.Stop.Hook && s.Stop.Action == "abort"
}

func applyPaused(s *state.State, e event.Event) error {
	d, err := event.Decode[event.SessionPausedData](e)
	if err != nil {
		return err
	}
	if err := setStatus(s, e, state.Paused); err != nil {
		return err
	}
	s.PauseKind, s.PauseReason, s.PauseCode, s.Stop = state.PauseKind(d.Kind), d.Reason, d.Code, nil
	clearDeadlines(s)
	return nil
}

func applyComplete(s *state.State, e event.Event) error {
	d, err := event.Decode[event.SessionCompleteData](e)
	if err != nil {
		return err
	}
	if err := setStatus(s, e, state.Completed); err != nil {
		return err
	}
	s.DropQuestions(func(state.Question) bool { return true })
	s.Reason, s.ExitedAfter = d.Reason, d.ExitAfter
	return nil
}

func applyAborted(s *state.State, e event.Event) error {
	d, err := event.Decode[event.SessionAbortedData](e)
	if err != nil {
		return err
	}
	if err := setStatus(s, e, state.Aborted); err != nil {
		return err
	}
	s.DropQuestions(func(state.Question) bool { return true })
	s.Reason, s.Stop, s.PauseKind, s.PauseReason = d.Reason, nil, "", ""
	s.Failure = &event.FailureData{Code: failure.Aborted.Code(), ErrorType: string(failure.Aborted), Message: cmp.Or(d.Reason, "aborted")}
	return nil
}

func applyControl(s *state.State, e event.Event) error {
	d, err := event.Decode[event.ControlData](e)
	if err != nil {
		return err
	}
	if err := markHandled(s, e, d.ID); err != nil {
		return err
	}
	switch d.Action {
	case "pause":
		kind := state.PauseKind(cmp.Or(d.Kind, string(state.PauseUser)))
		if s.Status == state.Running && (s.Stop == nil || s.Stop.Action != "abort") {
			s.Stop = &state.Stop{Action: "pause", Kind: kind, Reason: d.Reason, By: d.By, Hook: s.Stop != nil && s.Stop.Hook}
		}
	case "abort":
		if !s.Status.Final() && !abortedByHook(*s) {
			s.Stop = &state.Stop{Action: "abort", Reason: cmp.Or(d.Reason, "User requested"), By: d.By}
		}
	case "feedback":
		if !s.Status.Final() {
			s.AppendContext(d.Text)
		}
	}
	return nil
}

func applyImported(s *state.State, e event.Event) error {
	d, err := event.Decode[event.SessionImportedData](e)
	if err != nil {
		return err
	}
	in, err := state.Parse(d.State)
	if err != nil {
		return invalidTransition(e, "cannot read its state: "+err.Error())
	}
	in.Seq, in.Epoch = e.Seq, max(s.Epoch, in.Epoch)
	if in.Nodes == nil {
		in.Nodes = map[string]state.Node{}
	}
	*s = in
	return nil
}

func setStatus(s *state.State, e event.Event, next state.Status) error {
	if !s.Status.CanBecome(next) {
		return invalidTransition(e, fmt.Sprintf("a session that is %s cannot become %s", s.Status, next))
	}
	now := e.Time
	s.Status, s.EndedAt = next, &now
	return nil
}
