package run

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// backgroundLogFile is the name of a [backgroundLog] in the session's directory.
const backgroundLogFile = "background.log"

// backgroundLog receives the output of a session's process that has no terminal. The log of a
// new session is in the directory of all sessions until [backgroundLog.Keep], so that a refused start leaves
// no files. It is not safe for concurrent use.
type backgroundLog struct {
	// File is the process's standard output and error.
	File *os.File

	project *store.Project
	name    string // relative to the project
	final   string // name of a kept log, relative to the project
	offset  int64  // size of the file when it was opened, in bytes
}

// openBackgroundLog creates the log of a session of the project at root, or opens the existing log for appending.
// The caller closes it.
func openBackgroundLog(root, session string) (*backgroundLog, error) {
	if err := store.CheckSession(session); err != nil {
		return nil, err
	}
	project, err := store.OpenProject(root)
	if err != nil {
		return nil, err
	}
	dir := store.RunsDir + "/" + session
	l := &backgroundLog{project: project, final: dir + "/" + backgroundLogFile}
	l.name = l.final
	if _, err := project.Stat(dir); err != nil {
		var id [8]byte
		_, _ = rand.Read(id[:]) // never fails
		l.name = fmt.Sprintf("%s/.%s-%x-%s", store.RunsDir, session, id, backgroundLogFile)
	}
	if l.File, err = project.OpenFile(l.name, os.O_CREATE|os.O_RDWR|os.O_APPEND); err != nil {
		return nil, errors.Join(err, project.Close())
	}
	info, err := l.File.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", l.Path(), err), l.File.Close(), project.Close())
	}
	l.offset = info.Size()
	return l, nil
}

// Path returns the current absolute path of the log.
func (l *backgroundLog) Path() string { return l.project.Abs(l.name) }

// Keep moves the log of a started session into the session's directory. Open file descriptors stay valid.
func (l *backgroundLog) Keep() error {
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
func (l *backgroundLog) Text() (string, error) {
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
func (l *backgroundLog) Close() error {
	err := l.File.Close()
	if l.name != l.final {
		err = errors.Join(err, l.project.Remove(l.name))
	}
	return errors.Join(err, l.project.Close())
}
