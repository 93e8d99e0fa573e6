package journal

import (
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
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
