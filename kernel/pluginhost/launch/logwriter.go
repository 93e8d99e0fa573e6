package launch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
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
// are debug messages unless they begin with a level such as [WARN]. From the beginning of a Go panic on, lines are
// errors, except for the stacks of other goroutines. Everything is redacted, terminal sequences are removed, long lines
// are cut, and most lines of a flood are dropped and counted. A LogWriter must be used from one goroutine and never
// fails.
type LogWriter struct {
	log      hclog.Logger
	lines    *redact.Lines
	redactor *redact.Redactor
	limit    rateLimit

	line      []byte // the current line, at most maxLine bytes
	over      int    // number of bytes of the line beyond maxLine
	panicking bool   // a Go panic is being printed
	stacks    int    // stacks of goroutines printed by the panic
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

// The members that hclog writes into every object.
const (
	levelKey   = "@level"
	messageKey = "@message"
	timeKey    = "@timestamp"
	moduleKey  = "@module"
)

// parseObject returns the line as hclog's JSON, nil if it is anything else or if some bytes (over) are missing.
func (w *LogWriter) parseObject(line string, over int) map[string]any {
	if over > 0 || line[0] != '{' || w.panicking {
		return nil
	}
	var members map[string]any
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.UseNumber()
	if decoder.Decode(&members) != nil {
		return nil
	}
	if word, _ := members[levelKey].(string); hclog.LevelFromString(word) == hclog.NoLevel {
		return nil
	}
	return members
}

// level returns the level of hclog's object, or else of the plain line.
func (w *LogWriter) level(line string, members map[string]any) hclog.Level {
	if members != nil {
		word, _ := members[levelKey].(string)
		return hclog.LevelFromString(word)
	}
	w.panicking = w.panicking || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
	if w.panicking {
		return w.panicLevel(line)
	}
	if level, _, ok := cutPrefix(line); ok {
		return level
	}
	return hclog.Debug
}

// panicLevel returns the level of a line of a Go panic. It is error for the reason and the stack of the panicking
// goroutine, debug for other stacks.
func (w *LogWriter) panicLevel(line string) hclog.Level {
	if strings.HasPrefix(line, "goroutine ") {
		w.stacks++
	}
	if w.stacks > 1 {
		return hclog.Debug
	}
	return hclog.Error
}

// cutPrefix removes the level at the beginning of a line, as written by Go's simple loggers.
func cutPrefix(line string) (level hclog.Level, rest string, found bool) {
	for _, level := range []hclog.Level{hclog.Trace, hclog.Debug, hclog.Info, hclog.Warn, hclog.Error} {
		if rest, found := strings.CutPrefix(line, "["+strings.ToUpper(level.String())+"]"); found {
			return level, strings.TrimLeft(rest, " "), true
		}
	}
	return hclog.NoLevel, line, false
}

// plainMessage returns the message of a plain line, of which over further bytes are missing.
func (w *LogWriter) plainMessage(line string, level hclog.Level, over int) string {
	if over > 0 { // the last word may be half of a secret
		kept := strings.LastIndexAny(line, " \t") + 1
		line, over = line[:kept], over+len(line)-kept
	}
	if found, rest, ok := cutPrefix(line); ok && found == level {
		line = rest
	}
	return cutText(w.lines.Line(cleanTerminal(line)), over)
}

// fields returns the members that the plugin's author added, sorted by name: names and values in turn.
func (w *LogWriter) fields(members map[string]any) []any {
	names := make([]string, 0, len(members))
	for name := range members {
		switch name {
		case levelKey, messageKey, timeKey, moduleKey:
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	fields := make([]any, 0, 2*len(names))
	for _, name := range names {
		fields = append(fields, w.cleanText("", name), w.value(name, members[name]))
	}
	return fields
}

// value returns a boolean as it is, and anything else as text.
func (w *LogWriter) value(name string, value any) any {
	if truth, ok := value.(bool); ok {
		return truth
	}
	return w.cleanText(name, value)
}

// cleanText returns the loggable text of a field's value; the name is "" for the message.
func (w *LogWriter) cleanText(name string, value any) string {
	s, ok := value.(string)
	if !ok {
		b, err := json.Marshal(value)
		if err != nil { // it was read from JSON
			return ""
		}
		s = string(b)
	}
	return cutText(w.redactor.Field(name, cleanTerminal(s)), 0)
}

// cleanTerminal returns a text without terminal control sequences.
func cleanTerminal(s string) string {
	return strings.TrimRight(ansi.Strip(strings.ToValidUTF8(s, "\uFFFD")), "\r\n")
}

// cutText shortens a text to maxText bytes, at the end of a character, and appends the number of missing
// bytes; over bytes are missing already.
func cutText(s string, over int) string {
	if len(s) > maxText {
		n := maxText
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		over += len(s) - n
		s = s[:n]
	}
	if over == 0 {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes more)", s, over)
}
