package launch

import (
	"bytes"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

const (
	// maxLine is the longest line that is parsed, in bytes: fields of JSON lines may be long.
	maxLine = 64 << 10
	// maxText is the longest message or field that is logged, in bytes.
	maxText = 4 << 10
)

// LogWriter logs each line written to it. hclog's JSON lines keep their level, message and fields; other lines
// are debug messages unless they begin with a level such as [WARN]. From the beginning of a Go panic on, all
// lines are errors. Everything is redacted, terminal sequences are removed, long lines cut, and most lines of
// a flood dropped and counted. It must be used from one goroutine and never fails.
type LogWriter struct {
	log      hclog.Logger
	lines    *redact.Lines
	redactor *redact.Redactor
	limit    rateLimit

	line      []byte // of the current line, at most maxLine
	over      int    // bytes of the line beyond that
	panicking bool   // a Go panic is being printed
	stacks    int    // stacks of goroutines printed by it
}

// NewLogWriter returns a LogWriter to log, whose level limits the output; r removes the secrets.
func NewLogWriter(log hclog.Logger, r *redact.Redactor) *LogWriter {
	return &LogWriter{log: log, redactor: r, lines: r.Lines(), limit: newRateLimit(time.Now())}
}

// Write implements io.Writer.
func (w *LogWriter) Write(p []byte) (int, error) {
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

// Close logs an unfinished last line, and the number of dropped lines.
func (w *LogWriter) Close() error {
	if len(w.line) > 0 {
		w.flush()
	}
	w.logDropped(w.limit.resetDropped())
	return nil
}

func (w *LogWriter) flush() {
	line := string(bytes.TrimSuffix(w.line, []byte("\r")))
	over := w.over
	w.line, w.over = w.line[:0], 0
	if strings.TrimSpace(line) == "" {
		return
	}
	members := w.parseObject(line, over)
	level := w.level(line, members)
	pass, missed := false, 0
	if level >= w.log.GetLevel() {
		pass, missed = w.limit.allow(time.Now())
	}
	switch {
	case pass && members != nil:
		w.logDropped(missed)
		w.log.Log(level, w.cleanText("", members[messageKey]), w.fields(members)...)
	case pass:
		w.logDropped(missed)
		w.log.Log(level, w.plainMessage(line, level, over))
	case members == nil:
		w.lines.Skip(line)
	}
}

func (w *LogWriter) logDropped(n int) {
	if n > 0 {
		w.log.Warn("dropped lines of the plugin's log: too many", "lines", n)
	}
}
