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

// sentFile is the session's file with the number of spans that were sent: a kernel that resumes the session reads the
// journal from its beginning, and sends only the others.
const sentFile = "telemetry.json"

// maxSentRecord bounds the file, in bytes.
const maxSentRecord = 4096

// sentCount counts the spans of a run that the collector has received, up to the first one that it has not. It is safe for
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

// open returns the number of spans of a run sent so far.
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

// add adds to the number. If it cannot be written, a later kernel sends the spans again.
func (a *sentCount) add(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Spans += int64(n)
	if a.dir != "" {
		_ = a.write(a.dir)
	}
}

// readSentRecord reads the file. An agent can write to its directory: links out of it are not followed, and only regular
// files are read.
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

// write replaces the file, through a temporary one with a random name.
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
	if err = root.WriteFile(next, append(text, '\n'), 0o600); err == nil {
		err = root.Rename(next, sentFile)
	}
	if err != nil {
		return errors.Join(err, root.Remove(next))
	}
	return nil
}
