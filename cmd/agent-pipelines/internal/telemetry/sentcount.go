package telemetry

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
)

// sentFile is the file of a session that says how much of its trace has arrived: a kernel that goes on where another
// was killed reads the journal from its beginning, and sends what that could not send.
const sentFile = "telemetry.json"

// maxSentRecord is how many bytes of the file are read.
const maxSentRecord = 4096

// sentCount counts the spans of a run that the collector has taken, those before the first that it did not. It is safe for
// concurrent use.
type sentCount struct {
	mu  sync.Mutex // guards:
	dir string
	sentRecord
}

type sentRecord struct {
	RunID string `json:"run_id"`
	Spans int64  `json:"spans"`
}

// open says how many spans of a run have arrived so far.
func (a *sentCount) open(dir, run string) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dir = dir
	if was, err := readSentRecord(dir); err == nil && was.RunID == run && was.Spans > 0 {
		a.Spans += was.Spans
	}
	a.RunID = run
	return a.Spans
}

// add counts more. A count that cannot be kept makes a later kernel send them once more, at worst.
func (a *sentCount) add(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Spans += int64(n)
	if a.dir != "" {
		_ = a.write(a.dir)
	}
}

// readSentRecord reads the file. An agent can write where it lies: no link out of the directory is followed, and what is no
// file is not waited for.
func readSentRecord(dir string) (was sentRecord, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return was, err
	}
	defer root.Close()
	f, err := root.OpenFile(sentFile, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return was, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return was, errors.Join(err, os.ErrInvalid)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSentRecord))
	if err != nil {
		return was, err
	}
	err = json.Unmarshal(text, &was)
	return was, err
}

// write replaces the file, by one of a name that nobody knows before.
func (c sentRecord) write(dir string) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	next := "." + sentFile + "." + rand.Text()
	f, err := root.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(next, sentFile)
	}
	if err != nil {
		return errors.Join(err, root.Remove(next))
	}
	return nil
}
