package why

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// What is the kind of a link, for programs.
type What string

// The kinds of links.
const (
	Began     What = "began"     // the run, or a further run of the pipeline
	Entered   What = "entered"   // a stage, where no link before says so
	WentOn    What = "went_on"   // to another iteration
	Ended     What = "ended"     // a stage, with where that led
	Returned  What = "returned"  // the same over a counted edge
	Skipped   What = "skipped"   // a stage
	Tried     What = "tried"     // an attempt failed
	Anew      What = "anew"      // the stage began anew after its attempts were used up
	Measured  What = "measured"  // a check did not pass
	Stepped   What = "stepped"   // a step was made, failed, or is blocked
	Limited   What = "limited"   // a limit of time or money was reached
	Asked     What = "asked"     // a person was asked
	Answered  What = "answered"  // a person answered, or nobody did in time
	Hooked    What = "hooked"    // a hook said more than go on
	Told      What = "told"      // somebody asked for a pause or an abort, or told the agents something
	Paused    What = "paused"    // the run waits
	Resumed   What = "resumed"   // it went on
	CutOff    What = "cut_off"   // its process was gone
	Restored  What = "restored"  // its state was made from files, or by a repair
	Completed What = "completed" // the end
	Aborted   What = "aborted"   // the end, by request
)

// Link is one thing that led to the next, or several of the same kind.
type Link struct {
	At    time.Time  `json:"at"`              // of the first one
	Until *time.Time `json:"until,omitempty"` // of the last one, nil for one alone
	What  What       `json:"what"`
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

// end is when the last one of it happened.
func (l *Link) end() time.Time {
	if l.Until != nil {
		return *l.Until
	}
	return l.At
}

// maxLinks is how many links a chain keeps beside the first one. What is kept does not grow with the session.
const maxLinks = 1000

// link is a link while more may join it.
type link struct {
	Link
	tell func(*link) string // makes the text at the end, nil: it has its text
	said tally              // reasons
	last string             // what was said last, of what has no tally
}

// Chain takes the events of a session. Its zero value is not usable: see [New]. It is used from one goroutine.
type Chain struct {
	timeline *timeline.Timeline
	alive    bool // a kernel is at work, as far as the events tell

	first *link
	links []*link
	left  int              // how many were dropped
	open  map[string]*link // those that more may join

	to      string                      // the path that the last end of a node leads to
	visits  map[string]*visit           // by lane, since the node was entered
	ending  string                      // how the last node ended that did
	timer   *timer                      // that the run waits for
	stopped *timeline.Entry             // the last word of the run before it rested: a pause, a failure, an end
	pid     int                         // of the last kernel
	seen    timeline.Entry              // the last event
	answer  *event.QuestionAnsweredData // the last one, since the last question
	asked   map[string]struct{}         // ids of questions
}

// visit is what is known of the work in a lane: of a node, of a provider of a block, of a step.
type visit struct {
	iterations int
	stop       *event.DecisionData          // the decision that ended it
	settled    *event.IterationCompleteData // the last iteration, of a node with a contract
	unsaid     bool                         // the judge that was asked last gave no verdict
	tries      int                          // attempts that failed in the iteration at work
	stages     int                          // stage retries
}

// timer is a wait that was begun.
type timer struct {
	purpose string
	key     event.Key
	due     time.Time
}

// New returns a chain for the entries of a timeline.
func New(t *timeline.Timeline) *Chain {
	c := &Chain{timeline: t}
	c.reset()
	return c
}

// reset forgets an earlier run.
func (c *Chain) reset() {
	*c = Chain{timeline: c.timeline, open: map[string]*link{}, visits: map[string]*visit{}, asked: map[string]struct{}{}}
}

// Links are the links, the newest first, and how many older ones are left out.
func (c *Chain) Links() (newest []Link, left int) {
	all := slices.Clone(c.links)
	if c.first != nil && c.left > 0 {
		all = slices.Insert(all, 0, c.first)
	}
	slices.SortStableFunc(all, func(a, b *link) int { return a.end().Compare(b.end()) })
	slices.Reverse(all)
	for _, l := range all {
		if l.tell != nil {
			l.Text = l.tell(l)
		}
		newest = append(newest, l.Link)
	}
	return newest, c.left
}

// add adds a link that stands alone.
func (c *Chain) add(e timeline.Entry, l Link) *link {
	l.At, l.Times = e.Time, 1
	kept := &link{Link: l}
	if c.first == nil {
		c.first = kept
	}
	if len(c.links) == 2*maxLinks {
		drop := len(c.links) - maxLinks
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
func (c *Chain) join(e timeline.Entry, at lane, group string, l Link, tell func(*link) string) *link {
	group = at.id() + "\x00" + string(l.What) + "\x00" + group
	l.Stage, l.Provider, l.Visit = at.name, at.Branch, at.Visit
	l.From, l.To = at.Iteration, at.Iteration
	open := c.open[group]
	if open == nil {
		open = c.add(e, l)
		open.tell = tell
		c.open[group] = open
		return open
	}
	until := e.Time
	open.Until, open.To, open.Code = &until, max(open.To, at.Iteration), l.Code
	open.Times++
	return open
}

// close lets nothing more join what is there.
func (c *Chain) close() { clear(c.open) }

// lane is where work goes on by itself.
type lane struct {
	event.Location
	name string
}

// id tells lanes apart.
func (l lane) id() string {
	return strings.Join([]string{l.Node, l.Branch, l.Step}, "\x00")
}

// words are the lane for people: "build", "ideas by claude", "step s1 of build".
func (l lane) words() string {
	text := l.name
	if l.Step != "" {
		text = "step " + l.Step + " of " + text
	}
	if l.Branch != "" {
		text += " by " + l.Branch
	}
	return text
}

// lane is where an event happened.
func (c *Chain) lane(e timeline.Entry) lane { return lane{e.Location, cmp.Or(e.Name, "the run")} }

// name is the id of a node, or its path where that is not known.
func (c *Chain) name(path string) string { return cmp.Or(c.timeline.Name(path), "the run") }

// at is what is known of a lane.
func (c *Chain) at(l lane) *visit {
	v := c.visits[l.id()]
	if v == nil {
		v = &visit{}
		c.visits[l.id()] = v
	}
	return v
}
