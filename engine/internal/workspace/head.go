package workspace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// maxLog is how much of the end of the log of a head is read, in bytes.
const maxLog = 64 << 10

// HeadSince returns how the head of dir's Git repository moved at the time or later, in whole seconds; nil if it did
// not, or has no log. It reads Git's own log (logs/HEAD, gitrepository-layout(5)) and runs no Git.
func HeadSince(dir string, since time.Time) *event.HeadData {
	log, err := readLog(gitDir(dir))
	if err != nil {
		return nil
	}
	return moved(log, since)
}

// gitDir returns the directory of dir's repository or worktree, "" for none.
func gitDir(dir string) string {
	for {
		git := filepath.Join(dir, ".git")
		if info, err := os.Stat(git); err == nil {
			if info.IsDir() {
				return git
			}
			text, err := readEnd(git)
			to, is := strings.CutPrefix(strings.TrimSpace(text), "gitdir: ")
			switch {
			case err != nil || !is:
				return ""
			case filepath.IsAbs(to):
				return to
			default:
				return filepath.Join(dir, to)
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

func readLog(git string) (string, error) {
	if git == "" {
		return "", os.ErrNotExist
	}
	return readEnd(filepath.Join(git, "logs", "HEAD"))
}

// readEnd returns the end of a regular file. A pipe is not waited for.
func readEnd(name string) (string, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxLog), maxLog))
	return string(text), err
}

// logLine is a line of the log: both commits, who, and when in seconds.
var logLine = regexp.MustCompile(`^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\t]* (\d{1,18}) [-+]\d{4}(?:\t|$)`)

// moved is where the head went by its log; a line that is none is left out.
func moved(log string, since time.Time) *event.HeadData {
	var h event.HeadData
	for line := range strings.Lines(log) {
		m := logLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		if at, err := strconv.ParseInt(m[3], 10, 64); err != nil || at < since.Unix() {
			continue
		}
		if h.Moves == 0 {
			h.From = m[1]
		}
		h.To, h.Moves = m[2], h.Moves+1
	}
	if h.Moves == 0 {
		return nil
	}
	return &h
}
