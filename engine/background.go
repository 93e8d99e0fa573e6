package engine

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Background is where a session runs that is started without a word about it.
type Background = settings.Background

// The places.
const (
	// BackgroundUnset: no file of settings says anything, or one cannot be used.
	BackgroundUnset = settings.BackgroundUnset
	// BackgroundOff: in the terminal that starts it.
	BackgroundOff = settings.BackgroundOff
	// BackgroundDetach: in a process without a terminal.
	BackgroundDetach = settings.BackgroundDetach
	// BackgroundTmux: in a tmux session.
	BackgroundTmux = settings.BackgroundTmux
)

// Background is what the files of settings say: the project's .claude/config.yaml goes before the user's
// config.yaml, and does not count where nobody is there (unattended, as in CI). The faults of files that
// cannot be used are told by [Engine.Run] and [Engine.Preflight].
func (e *Engine) Background(unattended bool) Background {
	if e.settings.found().HasErrors() {
		return BackgroundUnset
	}
	if unattended {
		return e.settings.user.Background
	}
	b, _ := e.settings.layers().Background()
	return b
}

// BackgroundLogFile is the name of a [BackgroundLog] in the session's directory.
const BackgroundLogFile = "background.log"

// BackgroundLog takes what the process of a session without a terminal prints. A session that does not
// exist yet has it beside its directory until [BackgroundLog.Keep], so that a start that is refused
// leaves nothing behind. It is used from one goroutine.
type BackgroundLog struct {
	// File is for the process's standard output and error.
	File *os.File

	project *store.Project
	session string
	name    string // in the project
	final   string // where it belongs
	begin   int64  // what stood in it before, in bytes
}

// OpenBackgroundLog makes the log, or goes on with the one that the session has. The caller closes it.
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
	l.begin = info.Size()
	return l, nil
}

// Path is the absolute path of the log as it is called now.
func (l *BackgroundLog) Path() string { return l.project.Abs(l.name) }

// Keep puts the log of a session that has begun into its directory. Who writes to it goes on.
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

// Text is what was written since the log was opened, at most its last 64 KiB.
func (l *BackgroundLog) Text() (string, error) {
	const most = 64 << 10
	info, err := l.File.Stat()
	if err != nil {
		return "", fmt.Errorf("read %s: %w", l.Path(), err)
	}
	from := max(l.begin, info.Size()-most)
	text, err := io.ReadAll(io.NewSectionReader(l.File, from, info.Size()-from))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", l.Path(), err)
	}
	return string(text), nil
}

// Close closes the log, and removes it if it was not kept.
func (l *BackgroundLog) Close() error {
	err := l.File.Close()
	if l.name != l.final {
		err = errors.Join(err, l.project.Remove(l.name))
	}
	return err
}
