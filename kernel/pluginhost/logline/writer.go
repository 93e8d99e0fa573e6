package logline

import (
	"bytes"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

const (
	// maxLine is how much of a line is looked at, in bytes: fields of JSON lines may be long.
	maxLine = 64 << 10
	// maxText is how much of a message or of a field is logged, in bytes.
	maxText = 4 << 10
)

// Writer logs what is written to it, line by line. It is used from one goroutine and never fails.
type Writer struct {
	log   hclog.Logger
	lines *redact.Lines
	r     *redact.Redactor
	flow  flow

	line    []byte // of the line so far, at most maxLine
	over    int    // bytes of the line beyond that
	panicks bool   // a Go panic is being told
	stacks  int    // how many stacks of goroutines it has told
}

// New logs to log, whose level decides what is logged at all, without the secrets that r knows.
func New(log hclog.Logger, r *redact.Redactor) *Writer {
	return &Writer{log: log, r: r, lines: r.Lines(), flow: newFlow(time.Now())}
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		taken := min(len(line), maxLine-len(w.line))
		w.line = append(w.line, line[:taken]...)
		w.over += len(line) - taken
		if ended {
			w.flush()
		}
		p = rest
	}
	return n, nil
}

// Close logs a last line without an end, and how many lines were left out.
func (w *Writer) Close() error {
	if len(w.line) > 0 {
		w.flush()
	}
	w.tellLeftOut(w.flow.leftOut())
	return nil
}

func (w *Writer) flush() {
	line := string(bytes.TrimSuffix(w.line, []byte("\r")))
	over := w.over
	w.line, w.over = w.line[:0], 0
	if strings.TrimSpace(line) == "" {
		return
	}
	members := w.object(line, over)
	level := w.level(line, members)
	pass, missed := false, 0
	if enabled(w.log, level) {
		pass, missed = w.flow.pass(time.Now())
	}
	switch {
	case pass && members != nil:
		w.tellLeftOut(missed)
		w.log.Log(level, w.text("", members[messageKey]), w.fields(members)...)
	case pass:
		w.tellLeftOut(missed)
		w.log.Log(level, w.plain(line, level, over))
	case members == nil:
		w.lines.Skip(line)
	}
}

func (w *Writer) tellLeftOut(n int) {
	if n > 0 {
		w.log.Warn("lines of the plugin's log left out, because there were too many", "lines", n)
	}
}

// enabled reports whether a message of the level is logged.
func enabled(log hclog.Logger, level hclog.Level) bool {
	switch level {
	case hclog.Trace:
		return log.IsTrace()
	case hclog.Debug:
		return log.IsDebug()
	case hclog.Info:
		return log.IsInfo()
	case hclog.Warn:
		return log.IsWarn()
	default:
		return log.IsError()
	}
}
