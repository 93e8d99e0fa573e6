package journal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// disk is the journal's file, opened for appending. Tests replace it by a failing one.
type disk interface {
	io.ReaderAt
	io.WriteCloser
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error // the data and the length, not the times
}

// file is a disk on an [os.File].
type file struct{ *os.File }

func (f file) Write(text []byte) (int, error) {
	failpoint.BeforeWrite(f.Name())
	return f.File.Write(text)
}

func (f file) Sync() error {
	err := datasync(f.File)
	failpoint.AfterSync(f.Name())
	return err
}

// retryPauses are the pauses between attempts to write: long enough for a brief failure, short enough for an
// interactive user.
var retryPauses = [...]time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 250 * time.Millisecond}

// writeDurably appends text after the first size bytes and, if durable, waits until it is on the disk. A
// failed attempt is cut off and repeated with the write, because after a failed sync the state of the page
// cache is unknown.
func (j *Journal) writeDurably(size int64, text []byte, durable bool) error {
	for attempt := 0; ; attempt++ {
		err := writeOnce(j.file, text, durable)
		if err == nil {
			return nil
		}
		if cut := j.file.Truncate(size); cut != nil {
			err = errors.Join(err, cut)
		}
		j.log.Warn("cannot write journal", "attempt", attempt+1, "error", err)
		if attempt == len(retryPauses) {
			return j.diskError(err)
		}
		timer := time.NewTimer(retryPauses[attempt])
		<-timer.C
	}
}

func writeOnce(f disk, text []byte, durable bool) error {
	failpoint.Point("journal.append.before-write")
	if _, err := f.Write(text); err != nil {
		return err
	}
	failpoint.Point("journal.append.after-write")
	if !durable {
		return nil
	}
	if err := f.Sync(); err != nil {
		return err
	}
	failpoint.Point("journal.append.after-sync")
	return nil
}

func (j *Journal) diskError(err error) error {
	hint := "check the disk, then resume the session"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		hint = "free some space, then resume the session"
	}
	return failure.New(failure.StateCorrupt, "write journal %s: %w", j.path, err).WithHint("%s", hint)
}
