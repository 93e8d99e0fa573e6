package faults

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// talks are the replies of an agent with more output than a pipe and the command's buffer for its reader hold.
const talks = `{"replies": [{"node": "a", "iteration": 1, "output": "0123456789abcdef\n", "output_repeat": 60000},
 {"node": "a", "iteration": 2, "output": "0123456789abcdef\n", "output_repeat": 60000}, ` + `{"output": "${NODE} ${ITERATION}", "result": {"summary": "${NODE} ${ITERATION}"}}]}`

// talk returns the arguments of a run that prints the output of its agents.
func talk() []string { return []string{"pipeline", "p", "s", "--foreground", "--verbose"} }

// unread returns a pipe from which no process reads yet. The caller closes the writer once a process has it.
func (w world) unread() (reader, writer *os.File) {
	w.t.Helper()
	reader, writer, err := os.Pipe()
	w.check(err)
	w.t.Cleanup(func() { reader.Close(); writer.Close() })
	return reader, writer
}

// done waits until the session is complete and its lock is released.
func (w world) done() {
	w.t.Helper()
	w.await("the session's end", func() bool {
		text, err := os.ReadFile(w.path(journal))
		_, held := os.Stat(w.path(".claude/locks/s.lock"))
		return err == nil && strings.Contains(string(text), `"session_complete"`) && os.IsNotExist(held)
	})
}

// TestUnreadOutput checks that a run whose standard error is not read ends, with its result on standard
// output.
func TestUnreadOutput(t *testing.T) {
	w := newWorld(t, talks)
	_, writer := w.unread()
	result, err := os.Create(w.path("result"))
	w.check(err)
	defer result.Close()
	cmd := w.command(talk()...)
	cmd.Stdout, cmd.Stderr = result, writer
	w.check(cmd.Run())
	w.done()
	if output := w.read("result"); !strings.Contains(output, "PIPELINE COMPLETE") {
		t.Errorf("the result is %q", output)
	}
	w.nothingLeft()
}

// TestReadTooLate reads the pipe with all output only after the end of the session. The output reports the number of
// lines that were left out, and its result is complete.
func TestReadTooLate(t *testing.T) {
	w := newWorld(t, talks)
	reader, writer := w.unread()
	cmd := w.command(talk()...)
	cmd.Stdout, cmd.Stderr = writer, writer
	w.check(cmd.Start())
	w.check(writer.Close())
	w.done()
	text, err := io.ReadAll(reader)
	w.check(err)
	w.check(cmd.Wait())
	output := string(text)
	if !regexp.MustCompile(`(?m)^  … \d+ lines are left out here, since they were not read; events.jsonl of the session has all events$`).MatchString(output) {
		t.Errorf("it says nothing of lines that are left out: …%s", output[max(0, len(output)-2000):])
	}
	result := strings.Index(output, "PIPELINE COMPLETE")
	if result < 0 || strings.Contains(output[result:], "0123456789abcdef") || !strings.Contains(output[result:], "Output:") {
		t.Errorf("the result is not the last, or not whole: …%s", output[max(0, len(output)-2000):])
	}
	w.nothingLeft()
}

// TestClosedReader checks that a run drops its output and ends if the reader closes the pipe.
func TestClosedReader(t *testing.T) {
	w := newWorld(t, talks)
	reader, writer := w.unread()
	cmd := w.command(talk()...)
	cmd.Stdout, cmd.Stderr = writer, writer
	w.check(cmd.Start())
	w.check(writer.Close())
	_, err := reader.Read(make([]byte, 1))
	w.check(err)
	w.check(reader.Close())
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	w.done()
	w.nothingLeft()
}

// TestSignalWithUnreadOutput checks that signals work without a reader. They pause the session, and a further signal
// ends a process that waits to write its last output.
func TestSignalWithUnreadOutput(t *testing.T) {
	w := newWorld(t, strings.Replace(talks, `"node": "a", "iteration": 2,`, `"node": "a", "iteration": 2, "hang": true, "spawn": {"kind": "plain", "seconds": 600, "pid_file": "child"},`, 1))
	reader, writer := w.unread()
	u := w.beginTo(writer, talk()...)
	w.check(writer.Close())
	stop := u.interrupt()
	_ = u.cmd.Wait() // the state is checked below
	stop()
	if output := fmt.Sprint(u.cmd.ProcessState); output != "exit status 130" && output != "signal: interrupt" {
		t.Errorf("it ended with %s", output)
	}
	w.nothingLeft()
	w.must(0, []string{"paused (signal)", "agent-pipelines resume s"}, "status", "s")
	w.write("mock.json", calm)
	w.check(reader.Close())
	w.must(0, nil, "resume", "s", "--quiet")
}
