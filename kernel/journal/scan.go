package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxRead is the longest line that is read, in bytes. Lines of this journal have at most [event.MaxLine]; the Bash
// engine had no limit.
const maxRead = 1 << 20

// maxNumber is the largest valid sequence number or epoch, so that a damaged digit cannot use up the range.
const maxNumber = 1 << 40

// stamp holds the values that the journal puts on events, as of the last event.
type stamp struct {
	seq   int64
	epoch int
	runID string
	at    time.Time
	above string // digest of the last line of any kind, see [chain]; only with a chain
}

// scanner reads a journal piece by piece and keeps its position.
type scanner struct {
	offset       int64 // bytes read; a torn last line is read again with the text after it
	line         int   // newlines read
	unterminated bool  // the last event read has no newline yet

	stamp  // of the last event
	report Report
	chain  *chain // nil: the chain is not checked
}

// newChainScanner returns a scanner that checks the chain. The first line has the digest of the session's name. The heads
// are those of [Options].
func newChainScanner(session string, head, headCopy *Head) scanner {
	c := &chain{session: session, all: sha256.New(), head: head, headRead: head != nil && head.Seq == 0}
	if headCopy != nil && headCopy.Rest {
		c.headCopy = headCopy
	}
	if known := cmp.Or(head, c.headCopy); known != nil {
		c.end.Accepted, c.end.From = known.Accepted, known.From
	}
	return scanner{stamp: stamp{above: chainDigest("", []byte(session))}, chain: c}
}

// read reads r, which begins at the scanner's offset, and yields its live events until yield returns false. An
// error other than r's means that this version cannot read the journal; the events before it are yielded.
func (s *scanner) read(r io.Reader, yield func(event.Event) bool) error {
	s.report.TornTail = false
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		text, n, err := nextLine(lines)
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		e, live, err := s.addLine(text, n, !end)
		if err != nil {
			return err
		}
		if live && !yield(e) || end {
			return nil
		}
	}
}

// nextLine returns a line without its newline, and its length in the file. The text of a line longer than
// maxRead is nil. At the end of the file the error is io.EOF.
func nextLine(r *bufio.Reader) (text []byte, n int64, err error) {
	part, err := r.ReadSlice('\n')
	for errors.Is(err, bufio.ErrBufferFull) {
		if n += int64(len(part)); n <= maxRead {
			text = append(text, part...)
		}
		part, err = r.ReadSlice('\n')
	}
	if n += int64(len(part)); n > maxRead {
		return nil, n, err
	}
	if text == nil {
		text = part
	} else {
		text = append(text, part...)
	}
	return bytes.TrimSuffix(text, []byte{'\n'}), n, err
}

// addLine processes one line of n bytes; whole means that the line has its newline.
func (s *scanner) addLine(text []byte, n int64, whole bool) (e event.Event, live bool, err error) {
	if len(bytes.TrimSpace(text)) == 0 && n <= maxRead {
		s.advance(n, whole)
		return event.Event{}, false, nil
	}
	e, live, err = s.classify(text, n, whole)
	if s.chain != nil && err == nil {
		s.above = s.chain.add(s.above, chainLine{number: s.lineNumber(whole), text: text, event: e, live: live, torn: s.report.TornTail})
	}
	return e, live, err
}

// classify reads a line that is not empty. A last line without a newline counts if it is a complete event, since only
// the newline was lost.
func (s *scanner) classify(text []byte, n int64, whole bool) (e event.Event, live bool, err error) {
	e, reason := parse(text)
	if reason != "" && !whole {
		s.report.TornTail = true
		return event.Event{}, false, nil
	}
	s.advance(n, whole)
	s.unterminated = !whole
	if reason != "" {
		s.report.SuspectTail = true
		s.report.BadLines = append(s.report.BadLines, BadLine{s.lineNumber(whole), reason})
		return event.Event{}, false, nil
	}
	if err := checkVersion(e); err != nil {
		return event.Event{}, false, err
	}
	if why := s.staleReason(e); why != "" {
		s.report.Stale = append(s.report.Stale, StaleLine{s.lineNumber(whole), e.Type, e.Seq, why})
		return e, false, nil
	}
	return s.accept(e, whole), true, nil
}

func parse(text []byte) (e event.Event, reason string) {
	if text == nil {
		return event.Event{}, fmt.Sprintf("longer than %d bytes", maxRead)
	}
	e, err := event.ParseLine(text)
	if err != nil {
		return event.Event{}, err.Error()
	}
	if e.Seq < 0 || e.Seq > maxNumber || e.Epoch < 0 || int64(e.Epoch) > maxNumber {
		return event.Event{}, fmt.Sprintf("seq %d and epoch %d cannot be", e.Seq, e.Epoch)
	}
	return e, ""
}

// advance moves the scanner past a line.
func (s *scanner) advance(n int64, whole bool) {
	s.offset += n
	if whole {
		s.line++
		s.unterminated = false
	}
}

// lineNumber returns the number of the line that the scanner passed last; whole means that the line has an end.
func (s *scanner) lineNumber(whole bool) int {
	if whole {
		return s.line
	}
	return s.line + 1
}

// checkVersion returns an error for an event that this version must not skip.
func checkVersion(e event.Event) error {
	if e.Critical && !e.Type.Known() {
		return tooNewError(fmt.Sprintf("event %d has the type %s, which this version does not know and must not skip", e.Seq, e.Type))
	}
	if e.Type == event.SessionStart {
		if d, err := event.Decode[event.SessionStartData](e); err == nil && d.JournalVersion > event.JournalVersion {
			return tooNewError(fmt.Sprintf("it has version %d, this version reads up to %d", d.JournalVersion, event.JournalVersion))
		}
	}
	return nil
}

func tooNewError(why string) error {
	return failure.New(failure.StateCorrupt, "the journal was written by a newer version: %s", why).
		WithHint("use the version that wrote the session, or a later one")
}

// staleReason returns the reason why an event is stale; "" for none. An event without a number is never stale.
func (s *scanner) staleReason(e event.Event) string {
	switch {
	case e.Seq == 0:
		return ""
	case e.Epoch < s.epoch:
		return fmt.Sprintf("epoch %d is outdated, %d has begun", e.Epoch, s.epoch)
	case e.Seq <= s.seq:
		return fmt.Sprintf("the journal had already reached event %d", s.seq)
	default:
		return ""
	}
}

func (s *scanner) accept(e event.Event, whole bool) event.Event {
	s.report.SuspectTail = false
	if e.Seq == 0 {
		s.report.Unnumbered++
		e.Seq = s.seq + 1
	}
	if e.RunID != "" && (e.Type == event.SessionStart || e.Type == event.SessionImported) {
		s.report = Report{Stale: s.report.Stale} // a fold begins here; earlier events are history
	} else if e.Seq != s.seq+1 {
		s.report.Gaps = append(s.report.Gaps, Gap{s.lineNumber(whole), s.seq, e.Seq})
	}
	s.seq, s.epoch = e.Seq, max(s.epoch, e.Epoch)
	if e.RunID != "" {
		s.runID = e.RunID
	}
	if e.Time.After(s.at) {
		s.at = e.Time
	}
	return e
}
