package why

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Kind is the kind of a cause, for programs.
type Kind string

// These are the kinds of causes.
const (
	Began     Kind = "began"     // the run, or another run of the pipeline
	Entered   Kind = "entered"   // a stage, if no earlier cause names it
	Continued Kind = "went_on"   // with another iteration
	Ended     Kind = "ended"     // a stage, with the next node
	Returned  Kind = "returned"  // a stage, over a counted edge
	Skipped   Kind = "skipped"   // a stage
	Tried     Kind = "tried"     // a failed attempt
	Restarted Kind = "anew"      // the stage restarted after its last attempt
	Measured  Kind = "measured"  // a failed check
	Stepped   Kind = "stepped"   // a step ended, failed, or is blocked
	Limited   Kind = "limited"   // a limit of time or money was reached
	Asked     Kind = "asked"     // a question to the user
	Answered  Kind = "answered"  // an answer, or the end of a question's time limit
	Hooked    Kind = "hooked"    // a hook did more than continue
	Requested Kind = "told"      // a request to pause or abort, or feedback for the agents
	Paused    Kind = "paused"    // the run
	Resumed   Kind = "resumed"   // the run
	CutOff    Kind = "cut_off"   // the process died
	Restored  Kind = "restored"  // the state was rebuilt from files, or by a repair
	Completed Kind = "completed" // the run
	Aborted   Kind = "aborted"   // the run
)

// Cause is one cause, or several of the same kind.
type Cause struct {
	At    time.Time  `json:"at"`              // of the first cause
	Until *time.Time `json:"until,omitempty"` // of the last cause, nil for a single cause
	Kind  Kind       `json:"what"`
	// Stage is the id of the node, "" for the session; Provider is a provider of a parallel block.
	Stage    string `json:"stage,omitempty"`
	Provider string `json:"provider,omitempty"`
	Visit    int    `json:"visit,omitempty"`
	// From and To are the first and the last iteration, 0 for none.
	From  int    `json:"first_iteration,omitempty"`
	To    int    `json:"last_iteration,omitempty"`
	Times int    `json:"times"`          // number of causes that this entry combines
	Code  string `json:"code,omitempty"` // of a failure
	Text  string `json:"text"`           // a sentence, with quotations
}

// last returns the time of the last cause that the entry combines.
func (l *Cause) last() time.Time {
	if l.Until != nil {
		return *l.Until
	}
	return l.At
}

// maxCauses is the number of latest causes that are kept. At twice that number the older causes are dropped, except the
// oldest cause.
const maxCauses = 1000

// openCause is a cause that later causes of its group may still join.
type openCause struct {
	Cause
	render  func(*openCause) string // returns the text at the end; nil: Text is set
	reasons tally                   // counts the reasons
	detail  string                  // last text of a cause without reasons
}

// Causes collects the causes of a session's status. It is not safe for concurrent use.
type Causes struct {
	timeline  *timeline.Timeline
	isRunning bool // a kernel runs the session, by its events

	oldest  *openCause
	links   []*openCause
	dropped int                   // number of dropped causes
	open    map[string]*openCause // by group

	nextPath  string                      // target of the last transition
	loops     map[string]*loop            // by id, since the node was entered
	ending    string                      // end of the last node in words
	tried     *openCause                  // the last failed attempts, nil for none
	timer     *timer                      // the pending timer, nil for none
	stopped   bool                        // the run ended or paused
	stoppedBy string                      // the user who requested that end or pause, "" for none
	pid       int                         // of the last kernel
	latest    timeline.Entry              // the last event
	answer    *event.QuestionAnsweredData // the last answer since the last question
	questions map[string]struct{}         // ids of the questions so far
}

// loop is the work of a node, of a provider in a block, or of a step.
type loop struct {
	iterations     int
	stopDecision   *event.DecisionData          // ended the loop
	settlement     *event.IterationCompleteData // of the last iteration, under a contract
	judgeFailed    bool                         // the last judge gave no verdict
	failedAttempts int                          // of the current iteration
	stageRetries   int
}

// timer is a wait of the run.
type timer struct {
	purpose string
	key     event.Key
	due     time.Time
}

// NewCauses returns an empty collection for the entries of a timeline.
func NewCauses(t *timeline.Timeline) *Causes {
	c := &Causes{timeline: t}
	c.reset()
	return c
}

// reset drops an earlier run.
func (c *Causes) reset() {
	*c = Causes{timeline: c.timeline, open: map[string]*openCause{}, loops: map[string]*loop{}, questions: map[string]struct{}{}}
}

// List returns the causes, the latest first, and the number of older causes that were dropped.
func (c *Causes) List() (newest []Cause, left int) {
	all := slices.Clone(c.links)
	if c.oldest != nil && c.dropped > 0 {
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
	return newest, c.dropped
}

// add adds a cause. Repeated causes use join instead.
func (c *Causes) add(e timeline.Entry, l Cause) *openCause {
	l.At, l.Times = e.Time, 1
	kept := &openCause{Cause: l}
	if c.oldest == nil {
		c.oldest = kept
	}
	if len(c.links) == 2*maxCauses {
		drop := len(c.links) - maxCauses
		if c.dropped == 0 {
			c.dropped-- // the oldest cause is kept
		}
		c.dropped += drop
		c.links = slices.Clone(c.links[drop:])
	}
	c.links = append(c.links, kept)
	return kept
}

// join adds an entry to the open cause of a group. If the group has none, join opens one with the text of render.
func (c *Causes) join(e timeline.Entry, at place, group string, l Cause, render func(*openCause) string) *openCause {
	group = at.id() + "\x00" + string(l.Kind) + "\x00" + group
	l.Stage, l.Provider, l.Visit = at.name, at.Branch, at.Visit
	l.From, l.To = at.Iteration, at.Iteration
	open := c.open[group]
	if open == nil {
		open = c.add(e, l)
		open.render = render
		c.open[group] = open
		return open
	}
	until := e.Time
	open.Until, open.To, open.Code = &until, max(open.To, at.Iteration), l.Code
	open.Times++
	return open
}

// close ends all open causes.
func (c *Causes) close() { clear(c.open) }

// place is a location with the name of its node.
type place struct {
	event.Location
	name string
}

// id identifies the loop of the place.
func (l place) id() string {
	return strings.Join([]string{l.Node, l.Branch, l.Step}, "\x00")
}

// describe returns the place as text: "build", "ideas by claude", "step s1 of build".
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

// place returns the place of an entry.
func (c *Causes) place(e timeline.Entry) place { return place{e.Location, cmp.Or(e.Name, "the run")} }

// name returns the id of a node, "node <path>" if it is unknown, "the run" for "".
func (c *Causes) name(path string) string { return cmp.Or(c.timeline.Name(path), "the run") }

// loop returns the loop of a place.
func (c *Causes) loop(l place) *loop {
	v := c.loops[l.id()]
	if v == nil {
		v = &loop{}
		c.loops[l.id()] = v
	}
	return v
}
