package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Line is one line of a journal file, for the repair of a damaged journal.
type Line struct {
	Number int    // from 1
	Torn   bool   // the last line, without a newline
	Fault  string // why the line is not an event, "" if it is one
	Event  event.Event
}

// ReadLines reads a session's journal and checks each line alone, not the order, the numbers and the epochs. Empty
// lines are left out. A session without a journal has no lines. The error is of the disk, or says that a newer
// version wrote the journal.
func ReadLines(dir *store.Dir) ([]Line, error) {
	f, err := openEvents(dir)
	if f == nil {
		return nil, err
	}
	defer f.Close()
	lines, err := readLines(f)
	if err != nil {
		err = readError(dir.Abs(store.EventsFile), err)
	}
	return lines, err
}

func readLines(r io.Reader) ([]Line, error) {
	var lines []Line
	in := bufio.NewReaderSize(r, 16<<10)
	for number := 1; ; number++ {
		text, n, err := nextLine(in)
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return lines, err
		}
		if n > maxRead || len(bytes.TrimSpace(text)) > 0 {
			l := Line{Number: number, Torn: end}
			l.Event, l.Fault = parse(text)
			if l.Fault == "" {
				if err := checkVersion(l.Event); err != nil {
					return lines, err
				}
			}
			lines = append(lines, l)
		}
		if end {
			return lines, nil
		}
	}
}
