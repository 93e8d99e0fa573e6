package cliagent

import (
	"context"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answer is the script of an agent that repeats its input lines with numbers.
const answer = `n=0; while read line; do n=$((n+1)); echo "$n $line"; done; echo bye >&2`

// The lines of a conversation arrive during the conversation. Its end closes stdin and counts as the final message.
func TestTalk(t *testing.T) {
	received := make(chan string, 1)
	var got []string
	c := shell(answer)
	c.Line = func(line []byte) bool { received <- string(line); return false }
	c.Talk = func(talk Talk) {
		for _, word := range []string{"one", "two"} {
			_, _ = fmt.Fprintln(talk.Stdin, word)
			got = append(got, <-received)
		}
	}
	end, _ := run(t.Context(), t, c)
	compare(t, []string{"1 one\n", "2 two\n"}, got)
	if !end.Final || end.StopReason != StopNone || end.ExitCode != 0 || end.Stderr != "bye" {
		t.Errorf("end %+v", end)
	}
}

// An agent that continues after stdin is closed is ended, together with a child that holds its streams open.
func TestTalkWithRemainingAgent(t *testing.T) {
	c := shell(`sleep 600 & echo up; exec sleep 600`)
	c.Linger = 20 * time.Millisecond
	c.Talk = func(Talk) {}
	end, _ := run(t.Context(), t, c)
	if end.StopReason != StopLinger || !end.Clean() || end.Signal != syscall.SIGTERM {
		t.Errorf("end %+v", end)
	}
}

// A conversation receives the end of the agent: StdoutEnded is closed, and a write fails.
func TestTalkToEndedAgent(t *testing.T) {
	var wrote error
	c := shell(`exit 4`)
	c.Talk = func(talk Talk) {
		<-talk.StdoutEnded
		_, wrote = io.WriteString(talk.Stdin, strings.Repeat("x", 1<<20))
	}
	end, _ := run(t.Context(), t, c)
	if wrote == nil || end.ExitCode != 4 {
		t.Errorf("wrote with error %v, end %+v", wrote, end)
	}
}

// The channel Stop stops a conversation, whose last lines reach the agent before any signal.
func TestTalkIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := shell(`read line; echo "$line" >&2; exit 6`)
	c.Talk = func(talk Talk) {
		cancel()
		<-talk.Stop
		_, _ = fmt.Fprintln(talk.Stdin, "stop, please")
		<-talk.StdoutEnded
	}
	end, _ := run(ctx, t, c)
	if end.StopReason != StopCanceled || end.ExitCode != 6 || end.Stderr != "stop, please" {
		t.Errorf("end %+v", end)
	}
}

// A run ends at its timeout although its conversation ignores the request to stop.
func TestTalkThatDoesNotStop(t *testing.T) {
	c := shell(`echo up; exec sleep 600`)
	c.Grace, c.Timeout = 40*time.Millisecond, 20*time.Millisecond
	c.Talk = func(talk Talk) { <-talk.StdoutEnded }
	end, _ := run(t.Context(), t, c)
	if end.StopReason != StopTimeout {
		t.Errorf("end %+v", end)
	}
}

// Waiting time does not count for a limit: a clock that fires too early is set again.
func TestClock(t *testing.T) {
	var held time.Duration
	c := newClock(time.Hour, func() time.Duration { return held })
	defer c.stop()
	c.since = c.since.Add(-90 * time.Minute)
	held = 31 * time.Minute
	if c.over() {
		t.Error("over after 59 minutes of an hour")
	}
	c.since = c.since.Add(-2 * time.Minute)
	if !c.over() {
		t.Error("not over after 61 minutes of an hour")
	}
	c.start()
	c.since = c.since.Add(-61 * time.Minute)
	if !c.over() {
		t.Error("time before the start counts")
	}
}

// Silence does not count while the agent waits for others.
func TestIdleTimeWhileWaiting(t *testing.T) {
	begin, looks := time.Now(), 0
	c := shell(`read line; echo late`)
	c.IdleTimeout = 10 * time.Millisecond
	asked := make(chan struct{})
	c.WaitingTime = func() time.Duration {
		if looks++; looks == 12 { // twice at the start of the run, then each time the clock fires
			close(asked)
		}
		return time.Since(begin)
	}
	c.Talk = func(talk Talk) {
		<-asked
		_, _ = fmt.Fprintln(talk.Stdin)
		<-talk.StdoutEnded
	}
	end, lines := run(t.Context(), t, c)
	if diff := cmp.Diff([]string{"late\n"}, lines); diff != "" || end.StopReason != StopNone {
		t.Errorf("end %+v, lines (-want +got):\n%s", end, diff)
	}
}
