package why

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Kind is the kind of a link, for programs.
type Kind string

// The kinds of links.
const (
	Began     Kind = "began"     // the run, or a further run of the pipeline
	Entered   Kind = "entered"   // a stage, where no link before says so
	Continued Kind = "went_on"   // to another iteration
	Ended     Kind = "ended"     // a stage, with where that led
	Returned  Kind = "returned"  // the same over a counted edge
	Skipped   Kind = "skipped"   // a stage
	Tried     Kind = "tried"     // an attempt failed
	Restarted Kind = "anew"      // the stage began anew after its attempts were used up
	Measured  Kind = "measured"  // a check did not pass
	Stepped   Kind = "stepped"   // a step was made, failed, or is blocked
	Limited   Kind = "limited"   // a limit of time or money was reached
	Asked     Kind = "asked"     // a person was asked
	Answered  Kind = "answered"  // a person answered, or nobody did in time
	Hooked    Kind = "hooked"    // a hook said more than go on
	Requested Kind = "told"      // somebody asked for a pause or an abort, or told the agents something
	Paused    Kind = "paused"    // the run waits
	Resumed   Kind = "resumed"   // it went on
	CutOff    Kind = "cut_off"   // its process was gone
	Restored  Kind = "restored"  // its state was made from files, or by a repair
	Completed Kind = "completed" // the end
	Aborted   Kind = "aborted"   // the end, by request
)

// Cause is one thing that led to the next, or several of the same kind.
type Cause struct {
	At    time.Time  `json:"at"`              // of the first one
	Until *time.Time `json:"until,omitempty"` // of the last one, nil for one alone
	Kind  Kind       `json:"what"`
	// Stage is the id of the node that it is about, "" for the session; Provider that of a parallel block.
	Stage    string `json:"stage,omitempty"`
	Provider string `json:"provider,omitempty"`
	Visit    int    `json:"visit,omitempty"`
	// From and To are the first and the last iteration, 0 for none.
	From  int    `json:"first_iteration,omitempty"`
	To    int    `json:"last_iteration,omitempty"`
	Times int    `json:"times"`          // how many it stands for
	Code  string `json:"code,omitempty"` // of a failure
	Text  string `json:"text"`           // a sentence; it quotes agents and people
}

// last is when the last one of it happened.
func (l *Cause) last() time.Time {
	if l.Until != nil {
		return *l.Until
	}
	return l.At
}

// maxCauses is how many links a chain keeps beside the first one. What is kept does not grow with the session.
const maxCauses = 1000

// openCause is a link while more may join it.
type openCause struct {
	Cause
	render  func(*openCause) string // makes the text at the end, nil: it has its text
	reasons tally                   // reasons
	detail  string                  // what was said last, of what has no tally
}

// Causes takes the events of a session. Its zero value is not usable: see [New]. It is used from one goroutine.
type Causes struct {
	timeline  *timeline.Timeline
	isRunning bool // a kernel is at work, as far as the events tell

	oldest *openCause
	links  []*openCause
	left   int                   // how many were dropped
	open   map[string]*openCause // those that more may join

	nextPath  string                      // the path that the last end of a node leads to
	loops     map[string]*loop            // by lane, since the node was entered
	ending    string                      // how the last node ended that did
	timer     *timer                      // that the run waits for
	stopped   *timeline.Entry             // the last word of the run before it rested: a pause, a failure, an end
	pid       int                         // of the last kernel
	latest    timeline.Entry              // the last event
	answer    *event.QuestionAnsweredData // the last one, since the last question
	questions map[string]struct{}         // ids of questions
}

// loop is what is known of the work in a lane: of a node, of a provider of a block, of a step.
type loop struct {
	iterations     int
	stopDecision   *event.DecisionData          // the decision that ended it
	settlement     *event.IterationCompleteData // the last iteration, of a node with a contract
	judgeFailed    bool                         // the judge that was asked last gave no verdict
	failedAttempts int                          // attempts that failed in the iteration at work
	stageRetries   int                          // stage retries
}

// timer is a wait that was begun.
type timer struct {
	purpose string
	key     event.Key
	due     time.Time
}

// NewCauses returns a chain for the entries of a timeline.
func NewCauses(t *timeline.Timeline) *Causes {
	c := &Causes{timeline: t}
	c.reset()
	return c
}

// reset forgets an earlier run.
func (c *Causes) reset() {
	*c = Causes{timeline: c.timeline, open: map[string]*openCause{}, loops: map[string]*loop{}, questions: map[string]struct{}{}}
}

// List are the links, the newest first, and how many older ones are left out.
func (c *Causes) List() (newest []Cause, left int) {
	all := slices.Clone(c.links)
	if c.oldest != nil && c.left > 0 {
		all = slices.Insert(all, 0, c.oldest)
	}
	slices.SortStableFunc(all, func(a, b *openCause) int { return a.last().Compare(b.last()) })
	slices.Reverse(all)
	for _, l := range all {
		if l.render != nil {
			l.Text = l.render(l)
		}
		newest = append(newest, l.Cause)
	}
	return newest, c.left
}

// add adds a link that stands alone.
func (c *Causes) add(e timeline.Entry, l Cause) *openCause {
	l.At, l.Times = e.Time, 1
	kept := &openCause{Cause: l}
	if c.oldest == nil {
		c.oldest = kept
	}
	if len(c.links) == 2*maxCauses {
		drop := len(c.links) - maxCauses
		if c.left == 0 {
			c.left-- // the first one stays
		}
		c.left += drop
		c.links = slices.Clone(c.links[drop:])
	}
	c.links = append(c.links, kept)
	return kept
}

// join adds to the open link of a group, or opens one. What made it makes its text.
func (c *Causes) join(e timeline.Entry, at place, group string, l Cause, tell func(*openCause) string) *openCause {
	group = at.id() + "\x00" + string(l.Kind) + "\x00" + group
	l.Stage, l.Provider, l.Visit = at.name, at.Branch, at.Visit
	l.From, l.To = at.Iteration, at.Iteration
	open := c.open[group]
	if open == nil {
		open = c.add(e, l)
		open.render = tell
		c.open[group] = open
		return open
	}
	until := e.Time
	open.Until, open.To, open.Code = &until, max(open.To, at.Iteration), l.Code
	open.Times++
	return open
}

// close lets nothing more join what is there.
func (c *Causes) close() { clear(c.open) }

// place is where work goes on by itself.
type place struct {
	event.Location
	name string
}

// id tells lanes apart.
func (l place) id() string {
	return strings.Join([]string{l.Node, l.Branch, l.Step}, "\x00")
}

// describe are the lane for people: "build", "ideas by claude", "step s1 of build".
func (l place) describe() string {
	text := l.name
	if l.Step != "" {
		text = "step " + l.Step + " of " + text
	}
	if l.Branch != "" {
		text += " by " + l.Branch
	}
	return text
}

// place is where an event happened.
func (c *Causes) place(e timeline.Entry) place { return place{e.Location, cmp.Or(e.Name, "the run")} }

// name is the id of a node, or its path where that is not known.
func (c *Causes) name(path string) string { return cmp.Or(c.timeline.Name(path), "the run") }

// loop is what is known of a lane.
func (c *Causes) loop(l place) *loop {
	v := c.loops[l.id()]
	if v == nil {
		v = &loop{}
		c.loops[l.id()] = v
	}
	return v
}
