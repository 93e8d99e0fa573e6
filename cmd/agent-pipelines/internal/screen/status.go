package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// status is what a live view shows: the attempts under way and what is known of them.
type status struct {
	total   event.Usage
	ceiling string // what of the session's is used up, "" for none
	cycle   cycle
	running []*activity // one; in a parallel block one for each provider, in the order of their names
}

// cycle is the newest return over a counted edge, until its source ends another way.
type cycle struct {
	from string // path of the source
	text string // "cycle 1/3", "" for none
}

// activity is one iteration under way.
type activity struct {
	branch    string // the provider of a parallel block, or one of several steps at a time; "" outside
	step      string // "step 2/5", "" for none
	stage     string
	provider  string
	iteration int
	limit     int
	attempt   int
	since     time.Time // of the iteration's beginning
	current   *sdk.Usage
	progress  sdk.Progress
	doing     string // instead of the agent's progress: waiting, judging
}

// take takes an update in and says whether there is something new to see.
func (s *status) take(u kernel.Update, now time.Time) bool {
	switch {
	case u.Report != nil:
		a := s.of(u.Report.Branch)
		a.current, a.progress = u.Report.Usage, u.Report.Progress
		return true
	case u.Event == nil || u.State == nil || u.Plan == nil:
		return false
	}
	s.spend(u)
	e := *u.Event
	lane := laneOf(u)
	switch a := s.of(lane); e.Type {
	case event.IterationStart:
		s.end(lane)
		s.begin(u, now)
	case event.StepComplete:
		s.end(lane)
	case event.AttemptComplete, event.CheckResult:
		a.current, a.progress, a.doing = nil, sdk.Progress{}, "checking the work"
	case event.Retry:
		a.attempt, a.current, a.progress, a.doing = e.Attempt, nil, sdk.Progress{}, ""
	case event.IterationComplete, event.Error:
		a.current, a.progress, a.doing = nil, sdk.Progress{}, "deciding what is next"
	case event.QuestionAsked:
		a.doing = "waiting for you"
	case event.QuestionAnswered: // it does not say where
		for _, a := range s.running {
			if a.doing == "waiting for you" {
				a.doing = "deciding what is next"
			}
		}
	case event.JudgeStart:
		a.doing = "the judge reads"
	case event.TimerSet:
		if waiting(e) == nil { // a limit was set, and nobody waits for it
			return false
		}
		a.doing = "waiting"
	case event.ParallelProviderComplete, event.ParallelProviderFailed:
		s.end(lane)
	case event.NodeComplete:
		s.running = nil
		s.returned(e)
	case event.SessionPaused, event.SessionComplete, event.SessionAborted:
		s.running = nil
	default:
		return false
	}
	return true
}

// spend takes note of what the session has consumed.
func (s *status) spend(u kernel.Update) {
	s.total = u.State.Usage
	if p := u.Plan.Pipeline.Policy; p != nil && p.Cost != nil {
		s.ceiling = Spent(*p.Cost, u.State.Charges[""])
	}
}

// laneOf is whose work an event is about, among those who work side by side.
func laneOf(u kernel.Update) string {
	c := u.Event.Cursor
	if c == nil || c.Step == "" {
		return branch(*u.Event)
	}
	if n := u.Plan.Find(c.NodePath); n != nil && n.Steps != nil && n.Steps.Parallel {
		return c.Step
	}
	return ""
}

// returned takes note of the end of a node.
func (s *status) returned(e event.Event) {
	d, err := event.Decode[event.NodeCompleteData](e)
	switch {
	case err != nil || e.Cursor == nil:
	case d.Edge != "":
		s.cycle = cycle{e.Cursor.NodePath, fmt.Sprintf("cycle %d/%d", d.Cycle, d.Limit)}
	case s.cycle.from == e.Cursor.NodePath:
		s.cycle = cycle{}
	}
}

// of is what runs for a branch, and something that nobody sees if nothing does.
func (s *status) of(branch string) *activity {
	for _, a := range s.running {
		if a.branch == branch {
			return a
		}
	}
	return &activity{}
}

func (s *status) end(branch string) {
	s.running = slices.DeleteFunc(s.running, func(a *activity) bool { return a.branch == branch })
}

func (s *status) begin(u kernel.Update, now time.Time) {
	e := *u.Event
	a := &activity{branch: laneOf(u), attempt: max(e.Attempt, 1), since: now}
	if c := e.Cursor; c != nil {
		a.iteration = c.Iteration
		n := u.Plan.Find(c.NodePath)
		if c.Provider != "" {
			n = place{Update: u}.stage(e)
		}
		if c.Step != "" && n != nil {
			a.step = strings.ToLower(stepName(place{Update: u, node: n}, c.Step))
		}
		if n != nil {
			a.stage, a.provider, a.limit = n.ID, providerOf(n), n.Termination.Max()
		}
	}
	if branch(e) != "" { // the plan does not say what runs there
		d, _ := event.Decode[event.IterationStartData](e) // what cannot be read is not shown
		a.provider = providerOf(&plan.Node{Provider: &plan.Provider{Type: d.Provider, Model: d.Model}})
	}
	at, _ := slices.BinarySearchFunc(s.running, a, func(x, y *activity) int { return cmp.Compare(x.branch, y.branch) })
	s.running = slices.Insert(s.running, at, a)
}

// lines are the live lines, none while nothing runs. In a block each provider has one, and the last says
// what all of them consumed.
func (s *status) lines(now time.Time) []string {
	var lines []string
	usage := joined(Usage(s.used()), s.ceiling)
	for _, a := range s.running {
		if a.branch == "" {
			lines = append(lines, Clean(joined(a.head(now), s.cycle.text)))
			if work := joined(usage, a.work()); work != "" {
				lines = append(lines, "  "+Clean(work))
			}
			return lines
		}
		lines = append(lines, Clean(joined(a.head(now), a.work())))
	}
	if last := joined(usage, s.cycle.text); len(lines) > 0 && last != "" {
		lines = append(lines, "  "+last)
	}
	return lines
}

func (a *activity) head(now time.Time) string {
	running := now.Sub(a.since)
	name := a.stage
	if a.branch != "" {
		name = a.branch + ": " + a.stage
	}
	at := "iteration " + a.of()
	if a.step != "" {
		at = a.step
	}
	head := fmt.Sprintf("%c %s · %s · %s · %s", spinner(running), name, at, a.provider, Clock(running))
	if a.attempt > 1 {
		head += fmt.Sprintf(" · attempt %d", a.attempt)
	}
	return head
}

func (a *activity) of() string {
	if a.limit > 0 {
		return fmt.Sprintf("%d/%d", a.iteration, a.limit)
	}
	return fmt.Sprint(a.iteration)
}

// work is what the agent does.
func (a *activity) work() string {
	text := cmp.Or(a.doing, a.progress.Message)
	if text == a.progress.Tool {
		text = ""
	}
	return joined(a.progress.Tool, text)
}

// used is what the session has consumed so far.
func (s *status) used() event.Usage {
	sum := s.total
	for _, a := range s.running {
		sum = sum.Plus((*event.Usage)(a.current))
	}
	return sum
}

// joined are the parts that are not empty.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " · ")
}

func spinner(running time.Duration) rune {
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	return frames[int(max(running, 0)/redrawEvery)%len(frames)]
}
