package cliagent

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/record"
)

func TestRunForwardsAllFields(t *testing.T) {
	x := &record.Exchange{}
	c := shell(`cat; echo trouble >&2; printf 'no newline'; exit 3`)
	c.Stdin = strings.Repeat("prompt ", 100_000) + "\n"
	c.Exchange = x
	var complaints []string
	c.StderrLine = func(line []byte) { complaints = append(complaints, string(line)) }
	end, lines := run(t.Context(), t, c)

	compare(t, []string{c.Stdin, "no newline"}, lines)
	if diff := cmp.Diff([]string{"trouble\n"}, complaints); diff != "" {
		t.Errorf("lines of stderr (-want +got):\n%s", diff)
	}
	if got := x.Record().Text(sdk.StreamRaw); got != c.Stdin+"no newline" {
		t.Errorf("raw has %d bytes, want %d", len(got), len(c.Stdin)+10)
	}
	if got := x.Record().Text(sdk.StreamStderr); got != "trouble\n" {
		t.Errorf("stderr stream = %q", got)
	}
	want := End{ExitCode: 3, Stderr: "trouble"}
	compare(t, want, end, cmpopts.IgnoreUnexported(End{}), cmpopts.IgnoreFields(End{}, "Duration"))
}

func TestRunEnds(t *testing.T) {
	tests := []struct {
		name   string
		script string
		change func(c *Command, cancel context.CancelFunc)
		want   End
		kind   failure.Kind
	}{
		{"well", `exit 0`, nil, End{}, ""},
		{"by an exit code", `exit 7`, nil, End{ExitCode: 7}, failure.ProviderCrashed},
		{"by a signal", `kill -9 $$`, nil, End{ExitCode: -1, Signal: syscall.SIGKILL}, failure.ProviderCrashed},
		{
			"without reading the prompt", `exit 0`,
			func(c *Command, _ context.CancelFunc) { c.Stdin = strings.Repeat("x", 10<<20) },
			End{},
			"",
		},
		{
			"after closing stdout", `exec >&-; cat >&2; exit 5`,
			func(c *Command, _ context.CancelFunc) { c.Stdin = "late" },
			End{ExitCode: 5, Stderr: "late"},
			failure.ProviderCrashed,
		},
		{
			"at the time limit", `exec sleep 600`,
			func(c *Command, _ context.CancelFunc) { c.Timeout = 50 * time.Millisecond },
			End{ExitCode: -1, Signal: syscall.SIGTERM, StopReason: StopTimeout},
			failure.ProviderTimeout,
		},
		{
			"at the idle limit", `echo working; exec sleep 600`,
			func(c *Command, _ context.CancelFunc) { c.IdleTimeout = 50 * time.Millisecond },
			End{ExitCode: -1, Signal: syscall.SIGTERM, StopReason: StopIdle},
			failure.ProviderTimeout,
		},
		{
			"when cancelled", `echo up; exec sleep 600`,
			func(c *Command, cancel context.CancelFunc) {
				c.Line = func([]byte) bool { cancel(); return false }
			},
			End{ExitCode: -1, Signal: syscall.SIGTERM, StopReason: StopCanceled},
			failure.SignalInterrupt,
		},
		{
			"by force when it ignores the signal", `trap '' TERM; echo up; while :; do sleep 0.05; done`,
			func(c *Command, cancel context.CancelFunc) {
				c.Grace = 50 * time.Millisecond
				c.Line = func([]byte) bool { cancel(); return false }
			},
			End{ExitCode: -1, Signal: syscall.SIGKILL, StopReason: StopCanceled, Killed: true},
			failure.SignalInterrupt,
		},
		{
			"with its children, when they are all asked to", `exec 2>/dev/null; trap 'exit 7' TERM; sh -c 'echo up; exec sleep 600'; exit 3`,
			func(c *Command, cancel context.CancelFunc) {
				c.GroupTerm = true
				c.Line = func([]byte) bool { cancel(); return false }
			},
			End{ExitCode: 7, StopReason: StopCanceled},
			failure.SignalInterrupt,
		},
		{
			"when its work is done",
			`exec sleep 600`,
			func(c *Command, _ context.CancelFunc) {
				c.Done = &Completion{Reached: func(time.Duration) bool { return true }, Every: time.Nanosecond}
			},
			End{ExitCode: -1, Signal: syscall.SIGTERM, StopReason: StopDone},
			"",
		},
		{
			"by force with the sign's own grace",
			`trap '' TERM; echo up; while :; do sleep 0.05; done`,
			func(c *Command, _ context.CancelFunc) {
				up := make(chan struct{})
				c.Line = func([]byte) bool { close(up); return false }
				c.Done = &Completion{Every: time.Millisecond, Grace: 50 * time.Millisecond, Reached: func(time.Duration) bool {
					select {
					case <-up:
						return true
					default:
						return false
					}
				}}
			},
			End{ExitCode: -1, Signal: syscall.SIGKILL, StopReason: StopDone, Killed: true},
			"",
		},
		{
			"without a signal after its last output", `echo done; exit 0`,
			func(c *Command, _ context.CancelFunc) { c.Line = isDone },
			End{Final: true},
			"",
		},
		{
			"hanging after its last word", `echo done; exec sleep 600`,
			func(c *Command, _ context.CancelFunc) { c.Line, c.Linger = isDone, 50*time.Millisecond },
			End{ExitCode: -1, Signal: syscall.SIGTERM, StopReason: StopLinger, Final: true},
			"",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := shell(tt.script)
			if tt.change != nil {
				tt.change(&c, cancel)
			}
			end, _ := run(ctx, t, c)
			compare(t, tt.want, end, cmpopts.IgnoreUnexported(End{}), cmpopts.IgnoreFields(End{}, "Duration"))
			kind := failure.Kind("")
			if f := end.Failure(); f != nil {
				kind = f.Kind
			}
			if kind != tt.kind {
				t.Errorf("failure is %q, want %q", kind, tt.kind)
			}
		})
	}
}

func isDone(line []byte) bool { return string(line) == "done\n" }

func TestRunSurvivesAFlood(t *testing.T) {
	const size = 100 << 20
	tests := []struct {
		name   string
		script string
	}{
		{"of lines", `yes "$(head -c 500 /dev/zero | tr '\0' x)" | head -c 104857600`},
		{"in one line", `head -c 104857600 /dev/zero | tr '\0' x`},
		{"on stderr too", `head -c 104857600 /dev/zero >&2; yes "$(head -c 500 /dev/zero | tr '\0' x)" | head -c 104857600`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := shell(tt.script)
			got, longest := 0, 0
			c.Line = func(line []byte) bool {
				got += len(line)
				longest = max(longest, len(line))
				return false
			}
			end, err := Run(t.Context(), c)
			if err != nil || end.Failure() != nil {
				t.Fatal(err, end.Failure())
			}
			if got != size {
				t.Errorf("read %d bytes of %d", got, size)
			}
			if limit := MaxLineBytes + chunkBytes; longest > limit {
				t.Errorf("a line of %d bytes came in one piece", longest)
			}
		})
	}
}

func TestRunSlowReaderLosesNothing(t *testing.T) {
	c := shell(`yes 0123456789 | head -c 60000; echo; echo done`)
	release := make(chan struct{})
	first := true
	c.Line = func(line []byte) bool {
		if first {
			first = false
			<-release
		}
		return isDone(line)
	}
	time.AfterFunc(100*time.Millisecond, func() { close(release) }) // the process has ended by then
	end, lines := run(t.Context(), t, c)
	if !end.Final {
		t.Errorf("the last word got lost after %d lines", len(lines))
	}
}

func TestRunDoesNotStart(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name   string
		ctx    context.Context
		change func(c *Command)
		kind   failure.Kind
	}{
		{"no such program", t.Context(), func(c *Command) { c.Path = "/nowhere/agent" }, failure.ProviderMissing},
		{"no such directory", t.Context(), func(c *Command) { c.Dir = "/nowhere" }, failure.ProviderMissing},
		{"not executable", t.Context(), func(c *Command) { c.Path = "/etc/passwd" }, failure.ProviderMissing},
		{"an argument that is too long", t.Context(), func(c *Command) { c.Args = []string{strings.Repeat("x", 4<<20)} }, failure.ConfigInvalid},
		{"an argument with a zero byte", t.Context(), func(c *Command) { c.Args = []string{"a\x00b"} }, failure.ConfigInvalid},
		{"cancelled before", cancelled, func(*Command) {}, failure.SignalInterrupt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := shell(`exit 0`)
			tt.change(&c)
			_, err := Run(tt.ctx, c)
			if got := failure.KindOf(err); got != tt.kind {
				t.Errorf("kind = %q (%v), want %q", got, err, tt.kind)
			}
		})
	}
}
