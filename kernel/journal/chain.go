package journal

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// maxBreaks is the number of breaks that a [Chain] lists.
const maxBreaks = 100

// Head is the end of a journal. A copy that is kept outside of the session shows later whether lines were cut off, or
// changed together with all digests behind them.
type Head struct {
	Seq    int64  `json:"seq"`    // of the last event, 0 before the first
	Digest string `json:"digest"` // of its line, as the next line has it
	// Run is the run of the event, "" in heads of older versions.
	Run string `json:"run,omitempty"`
	// From is the event behind which the keeper has known all lines: 0, or the end of the journal when it had no head.
	From int64 `json:"from,omitempty"`
	// Rest means that the writer has ended in order: no line may follow before the next head.
	Rest bool `json:"rest,omitempty"`
	// Accepted is the beginning of the journal whose breaks the user has accepted, nil for none.
	Accepted *Accepted `json:"accepted,omitempty"`
}

// Accepted identifies the first lines of a journal.
type Accepted struct {
	Lines  int    `json:"lines"`
	Digest string `json:"digest"` // of all these lines
}

// The kinds of a [Break].
const (
	BreakEdited     = "edited"       // a line is not the one that the next line followed
	BreakMissing    = "missing"      // lines are missing before the line
	BreakOrder      = "order"        // the line is not at its place, or there twice
	BreakCut        = "cut"          // lines are missing at the end
	BreakRecomputed = "recomputed"   // the digests fit each other, but not the head
	BreakAdded      = "added"        // the line was added while no process of ours wrote
	BreakHead       = "head_missing" // no head is kept for a journal with a chain
	BreakOtherRun   = "other_run"    // the head is of a run that the journal does not have
	BreakRenamed    = "renamed"      // the journal is of a session with another name
)

// Break is a place at which a journal was changed.
type Break struct {
	Line    int    `json:"line"` // from 1; 0 for a fault of the head, or before the first line
	Seq     int64  `json:"seq"`  // of the event that the kind is about
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Chain is the result of the check of a journal's chain.
type Chain struct {
	// Chained counts the lines with a digest over the line before, Unchained those without: lines of the Bash engine and
	// of versions before the chain, and lines that are no events.
	Chained   int `json:"chained"`
	Unchained int `json:"unchained"`
	// FirstChained and LastChained are the numbers of events, 0 if no line is chained.
	FirstChained int64 `json:"first_chained,omitempty"`
	LastChained  int64 `json:"last_chained,omitempty"`
	// Breaks lists the first breaks, at most 100; BreakCount is their full number. AcceptedBreaks counts the breaks in
	// accepted lines.
	Breaks         []Break `json:"breaks"`
	BreakCount     int     `json:"break_count"`
	AcceptedBreaks int     `json:"accepted_breaks,omitempty"`
	// HeadMatches reports that a head is kept and its line is in the journal, or that ByCopy is set.
	HeadMatches bool `json:"head_matches"`
	// ByCopy reports that only the copy of a head that came with the session shows that the last lines are honest.
	ByCopy bool `json:"-"`
	// End is the head of the journal as it is, at rest, with all its lines accepted.
	End Head `json:"-"`
}

// LacksHeadOnly reports whether the missing head is the only break, as after a copy to another machine.
func (c Chain) LacksHeadOnly() bool { return c.BreakCount == 1 && c.Breaks[0].Kind == BreakHead }

// BreakText returns the message of the first break and the number of the others. There must be a break.
func (c Chain) BreakText() string {
	if c.BreakCount > 1 {
		return fmt.Sprintf("%s, and %d more", c.Breaks[0].Message, c.BreakCount-1)
	}
	return c.Breaks[0].Message
}

// chainDigest returns 128 bits of SHA-256 over a line without its newline, in URL-safe base64. The digest of a line that
// has none itself covers above, the digest of the line before.
func chainDigest(above string, line []byte) string {
	if above != "" {
		line = slices.Concat([]byte(above), line)
	}
	sum := sha256.Sum256(line)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// chain checks the lines of a journal one after the other.
type chain struct {
	session    string
	head       *Head  // kept outside of the session, nil for none
	headRead   bool   // the head's line was read
	runRead    bool   // a line of the head's run was read
	headCopy   *Head  // see [Options], nil for none
	copyLast   bool   // no line follows the line of headCopy
	added      *Break // the first line that follows a head at rest, nil for none
	at         int    // the last line with the number of the head
	end        Head   // of the last live event
	torn       bool   // the last line was torn, and is read again
	beforeTorn string // digest of the line before the torn one

	bottom int       // number of the last line
	last   int64     // number of the event in the last line, 0 for a line without an event
	max    int64     // the highest number so far
	all    hash.Hash // of all lines
	report Chain
}

// chainLine is a line of the journal. Its event is the zero event if the line is none.
type chainLine struct {
	number     int
	text       []byte
	event      event.Event
	live, torn bool
}

// add checks a line below the one with the digest above, and returns its own digest.
func (c *chain) add(above string, l chainLine) string {
	if c.torn {
		above = c.beforeTorn
	}
	if c.torn = l.torn; l.torn {
		c.beforeTorn = above
		return chainDigest(above, l.text)
	}
	_, _ = c.all.Write(l.text) // never fails
	_, _ = c.all.Write([]byte{'\n'})
	e, accepted := l.event, c.end.Accepted
	known := accepted != nil && c.lines() < accepted.Lines
	if c.headRead && c.head.Rest && !known && c.added == nil {
		c.added = &Break{l.number, e.Seq, BreakAdded, fmt.Sprintf("line %d was added while no process worked on the session, as far as your state directory knows", l.number)}
	}
	c.copyLast = false
	if e.Prev == "" {
		c.report.Unchained++
		above = chainDigest(above, l.text)
	} else {
		if e.Prev != above && known {
			c.report.AcceptedBreaks++
		} else if e.Prev != above {
			c.breakAt(l.number, e)
		}
		c.report.Chained++
		c.report.FirstChained, c.report.LastChained = cmp.Or(c.report.FirstChained, e.Seq), e.Seq
		above = chainDigest("", l.text)
	}
	if known && c.lines() == accepted.Lines && c.allDigest() != accepted.Digest {
		c.broken(l.number, e.Seq, BreakEdited, "one of the lines 1 to %d was changed after you accepted them", l.number)
	}
	c.last, c.max, c.bottom = e.Seq, max(c.max, e.Seq), l.number
	if c.head != nil && c.head.Seq == e.Seq {
		c.at = l.number
	}
	if l.live {
		c.addLive(e, above)
	}
	return above
}

// addLive compares the heads with the line of a live event, which has the digest.
func (c *chain) addLive(e event.Event, digest string) {
	c.end.Seq, c.end.Digest, c.end.Run = e.Seq, digest, cmp.Or(e.RunID, c.end.Run)
	c.headRead, c.runRead = c.headRead || c.end.at(c.head), c.runRead || c.head != nil && c.head.Run == c.end.Run
	c.copyLast = c.end.at(c.headCopy)
	if c.copyLast && c.added != nil && c.headCopy.From < c.added.Seq {
		c.added = nil
	}
}

// at reports whether other is a head of the same line.
func (h Head) at(other *Head) bool {
	return other != nil && other.Seq == h.Seq && other.Digest == h.Digest
}

func (c *chain) lines() int { return c.report.Chained + c.report.Unchained }

func (c *chain) allDigest() string { return base64.RawURLEncoding.EncodeToString(c.all.Sum(nil)) }

// breakAt reports a line that does not have the digest of the line above it.
func (c *chain) breakAt(number int, e event.Event) {
	switch seq := e.Seq; {
	case c.lines() == 0 && seq == 1 && e.Session != c.session:
		c.broken(number, seq, BreakRenamed, "the journal is of session '%s': its directory was copied or renamed, and continues under that name alone", e.Session)
	case c.lines() == 0 && seq == 1:
		c.broken(number, seq, BreakEdited, "line %d is not the beginning of a journal", number)
	case seq > c.max+1:
		c.broken(number, seq, BreakMissing, "events %d to %d are missing before line %d", c.max+1, seq-1, number)
	case seq <= c.max || c.last != seq-1:
		c.broken(number, seq, BreakOrder, "event %d in line %d is not behind the line that it was written behind", seq, number)
	default:
		c.broken(number-1, seq-1, BreakEdited, "event %d in line %d was changed after line %d was written", seq-1, number-1, number)
	}
}

func (c *chain) broken(line int, seq int64, kind, format string, args ...any) {
	if c.report.BreakCount++; len(c.report.Breaks) < maxBreaks {
		c.report.Breaks = append(c.report.Breaks, Break{line, seq, kind, fmt.Sprintf(format, args...)})
	}
}

// result compares the end of the journal with the head, and returns the result of the check.
func (c *chain) result() Chain {
	end := *c
	end.report.Breaks = append([]Break{}, c.report.Breaks...)
	if a := c.added; a != nil {
		end.report.BreakCount++
		i, _ := slices.BinarySearchFunc(c.report.Breaks, *a, func(b, a Break) int { return b.Line - a.Line })
		end.report.Breaks = slices.Insert(end.report.Breaks, i, *a)
		end.report.Breaks = end.report.Breaks[:min(len(end.report.Breaks), maxBreaks)]
	}
	otherRun := c.head != nil && !c.headRead && c.head.Run != "" && !c.runRead && c.end.Run != ""
	byCopy := c.copyLast && c.added == nil && (c.head == nil || otherRun || c.headRead && !c.end.at(c.head))
	switch h := c.head; {
	case byCopy:
	case otherRun:
		end.broken(c.at, h.Seq, BreakOtherRun, "the head in your state directory is of run %s, which is not in the journal: a session of this name ran in another project or container at this path, or the journal was replaced", h.Run)
	case h == nil && c.report.Chained > 0:
		end.broken(0, c.end.Seq, BreakHead, "your state directory has no head of this journal, which would show lines that are cut off or recomputed")
	case h == nil || c.headRead:
	case c.end.Seq < h.Seq:
		end.broken(c.bottom, h.Seq, BreakCut, "events %d to %d are missing at the end", c.end.Seq+1, h.Seq)
	default:
		end.broken(c.at, h.Seq, BreakRecomputed, "event %d is not the one whose digest was kept: it was changed, and so were the digests behind it", h.Seq)
	}
	end.report.HeadMatches, end.report.ByCopy = c.head != nil && c.headRead || byCopy, byCopy
	end.report.End = Head{Seq: c.end.Seq, Digest: c.end.Digest, Run: c.end.Run, Rest: true, Accepted: &Accepted{c.lines(), c.allDigest()}}
	return end.report
}
