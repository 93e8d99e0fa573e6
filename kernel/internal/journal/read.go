package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/rundir"
)

// Read reads a session's journal without locking it; a line that is being written meanwhile is a
// torn tail. A session without a journal has no events. The error is the disk's, or says that a
// newer version wrote the journal; the log then holds what came before.
func Read(dir *rundir.Dir) (Log, error) {
	f, err := dir.OpenFile(rundir.EventsFile, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) && dir.Intact() == nil {
		return Log{}, nil
	}
	if err != nil {
		return Log{}, err
	}
	defer f.Close()
	var s scanner
	events, err := s.read(f)
	if err != nil {
		err = fmt.Errorf("read journal %s: %w", dir.Abs(rundir.EventsFile), err)
	}
	return Log{Events: events, Report: s.report}, err
}
