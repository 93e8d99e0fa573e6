package cliagent

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// alive reports whether the process with the printed ID still runs.
func alive(t *testing.T, line string) bool {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("no process id: %q", line)
	}
	_, ok := readProc(pid)
	return ok
}

// TestRunLeavesNothing runs agents that leave processes running in every known way.
func TestRunLeavesNothing(t *testing.T) {
	const bare = `setsid -f env -i sh -c 'echo $$; exec sleep 600'`
	const scrubbed = `setsid env -i sh -c 'echo $$; sleep 600; sleep 600'`
	tests := []struct {
		name   string
		script string // prints the IDs of the processes that Run must end, one per line, then "up"
		hangs  bool   // Run must end the agent
	}{
		{"child in the group", `sleep 600 & echo $!; echo up`, false},
		{"child in the group ignores TERM", `(trap '' TERM; sleep 600; sleep 600) & echo $!; sleep 0.1; echo up`, false},
		{"session of its own", `CLIAGENT_TEST_FAKE=escape "$0" sleep 600; echo up`, false},
		{"session of its own with children", `CLIAGENT_TEST_FAKE=escape "$0" sh -c 'sleep 600 & echo $!; sleep 600'; sleep 0.1; echo up`, false},
		{"hanging agent with a session of its own", `CLIAGENT_TEST_FAKE=escape "$0" sleep 600; echo up; sleep 600`, true},
		{"session of a living parent, with another environment", `(` + scrubbed + `; true) & sleep 0.2; echo up; sleep 600`, true},
		{"neither group, parents nor environment", "read prompt; " + bare + `; sleep 0.2; echo up`, false},
		{"the same of a hanging agent", "read prompt; " + bare + `; sleep 0.2; echo up; sleep 600`, true},
		{"killed agent whose tool has another environment", `trap '' TERM; ` + scrubbed + ` & sleep 0.2; echo up; while :; do sleep 0.05; done`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := shell(tt.script)
			c.Grace, c.Stdin = 200*time.Millisecond, "prompt\n"
			c.Line = func(line []byte) bool {
				if tt.hangs && string(line) == "up\n" {
					cancel()
				}
				return false
			}
			end, lines := run(ctx, t, c)
			if hung := end.StopReason != StopNone; hung != tt.hangs {
				t.Errorf("cut = %q, hangs = %t", end.StopReason, tt.hangs)
			}
			if len(lines) < 2 {
				t.Fatalf("the agent printed nothing: %q, stderr %q", lines, end.Stderr)
			}
			for _, line := range lines {
				if line != "up\n" && alive(t, line) {
					t.Errorf("process %s is left", strings.TrimSpace(line))
				}
			}
		})
	}
}

// TestAgentFollowsItsHost checks that an agent ends after SIGKILL has ended its plugin.
func TestAgentFollowsItsHost(t *testing.T) {
	self := must(os.Executable())
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fakeVariable+"=host")
	out := must(cmd.StdoutPipe())
	check(t, cmd.Start())
	line := must(bufio.NewReader(out).ReadString('\n'))
	if !alive(t, line) {
		t.Fatal("the agent does not run")
	}
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for deadline := time.Now().Add(20 * time.Second); alive(t, line); {
		if time.Now().After(deadline) {
			t.Fatal("the agent outlived its host")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestParseStat(t *testing.T) {
	const tail = " 0 0 0 0 0 0 0 0 0 20 0 1 0"
	tests := []struct {
		name string
		stat string
		want proc
		ok   bool
	}{
		{"plain", "7 (sh) S 1 7 5 0 -1" + tail + " 4242 99", proc{7, 1, 7, 5, 4242}, true},
		{"name with parentheses and spaces", "7 (a) S 9 (b) R 1 2 3 0 -1" + tail + " 5 0", proc{7, 1, 2, 3, 5}, true},
		{"zombie", "7 (sh) Z 1 7 5 0 -1" + tail + " 4242 99", proc{}, false},
		{"cut", "7 (sh) S 1 7", proc{}, false},
		{"no number", "7 (sh) S x 7 5 0 -1" + tail + " 4242 99", proc{}, false},
		{"empty", "", proc{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := parseStat(7, []byte(tt.stat))
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(proc{})); diff != "" || ok != tt.ok {
				t.Errorf("ok = %t, want %t (-want +got):\n%s", ok, tt.ok, diff)
			}
		})
	}
}

// TestOtherProcessesAreNotFamily checks that a process outside the family does not belong to it, even with the ID of
// a member or of the group.
func TestOtherProcessesAreNotFamily(t *testing.T) {
	f := &family{root: 10, mark: "X=1", known: map[int]uint64{10: 100, 11: 101, 12: 102}}
	reused := map[int]proc{10: {pid: 10, group: 10, start: 999}, 12: {pid: 12, start: 102}}
	tests := []struct {
		name string
		p    proc
		want bool
	}{
		{"known", proc{pid: 11, start: 101}, true},
		{"later process with a known id", proc{pid: 11, start: 555}, false},
		{"child of a known one", proc{pid: 1 << 30, parent: 11}, true},
		{"session of a known one", proc{pid: 1 << 30, session: 11}, true},
		{"group whose id a stranger has", proc{pid: 1 << 30, group: 10, start: 999}, false},
		{"child of a known one that lives", proc{pid: 1 << 30, parent: 12}, true},
		{"child of a stranger with a known id", proc{pid: 1 << 30, parent: 10}, false},
		{"session of a stranger with a known id", proc{pid: 1 << 30, session: 10}, false},
		{"ourselves", proc{pid: os.Getpid(), parent: 11}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := f.owns(tt.p, reused); got != tt.want {
				t.Errorf("owns = %t, want %t", got, tt.want)
			}
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (sh) S 1 7 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 99"))
	f.Fuzz(func(t *testing.T, stat []byte) {
		if p, ok := parseStat(7, stat); ok && p.pid != 7 {
			t.Errorf("parsed process %d", p.pid)
		}
	})
}
