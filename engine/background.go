package engine

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// BackgroundLogFile is the name of a [BackgroundLog] in the session's directory.
const BackgroundLogFile = "background.log"

// BackgroundLog receives the output of a session's process that has no terminal. Before the session exists
// the log is beside its directory, until [BackgroundLog.Keep]; a refused start therefore leaves no files. It
// is not safe for concurrent use.
type BackgroundLog struct {
	// File is the process's standard output and error.
	File *os.File

	project *store.Project
	session string
	name    string // relative to the project
	final   string // name of a kept log, relative to the project
	offset  int64  // size of the file when it was opened, in bytes
}

// OpenBackgroundLog creates the log of a session, or opens the existing one for appending. The caller closes
// it.
func (e *Engine) OpenBackgroundLog(session string) (*BackgroundLog, error) {
	if err := store.CheckSession(session); err != nil {
		return nil, err
	}
	dir := store.RunsDir + "/" + session
	l := &BackgroundLog{project: e.project, session: session, final: dir + "/" + BackgroundLogFile}
	l.name = l.final
	if _, err := e.project.Stat(dir); err != nil {
		l.name = fmt.Sprintf("%s/.%s-%s-%s", store.RunsDir, session, newID(), BackgroundLogFile)
	}
	var err error
	if l.File, err = e.project.OpenFile(l.name, os.O_CREATE|os.O_RDWR|os.O_APPEND); err != nil {
		return nil, err
	}
	info, err := l.File.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", l.Path(), err), l.File.Close())
	}
	l.offset = info.Size()
	return l, nil
}

// Path returns the current absolute path of the log.
func (l *BackgroundLog) Path() string { return l.project.Abs(l.name) }

// Keep moves the log of a started session into the session's directory. Open file descriptors stay valid.
func (l *BackgroundLog) Keep() error {
	if l.name == l.final {
		return nil
	}
	if err := l.project.Rename(l.name, l.final); err != nil {
		return err
	}
	l.name = l.final
	return nil
}

// Text returns the text written since the log was opened, at most its last 64 KiB.
func (l *BackgroundLog) Text() (string, error) {
	const most = 64 << 10
	info, err := l.File.Stat()
	if err != nil {
		return "", fmt.Errorf("read %s: %w", l.Path(), err)
	}
	from := max(l.offset, info.Size()-most)
	text, err := io.ReadAll(io.NewSectionReader(l.File, from, info.Size()-from))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", l.Path(), err)
	}
	return string(text), nil
}

// Close closes the log and removes it unless it was kept.
func (l *BackgroundLog) Close() error {
	err := l.File.Close()
	if l.name != l.final {
		err = errors.Join(err, l.project.Remove(l.name))
	}
	return err
}
