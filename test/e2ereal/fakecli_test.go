package e2ereal

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeScript writes to both streams, a file and the result; after a signal it writes a last line.
const fakeScript = `#!/bin/sh
[ "$1" = --version ] && { echo "1.2.3 (fake)"; exit 0; }
result=$(sed -n 's/^Result file: //p')
trap 'kill $child; echo last; exit 9' TERM
echo '{"n":1}'; echo warning >&2
echo made > made.txt; echo '{}' > "$result"
case "$1" in
wait) sleep 600 >/dev/null 2>&1 & child=$!; : > ready; wait ;;
kill) kill -KILL $$ ;;
*) exit 3 ;;
esac
`

// TestRecordAndPlay records a CLI with each of three ends and replays the recorded call. The caller gets the same
// result from both.
func TestRecordAndPlay(t *testing.T) {
	cases := []struct {
		arg  string
		want Call
	}{
		{"exit", Call{Exit: 3}},
		{"kill", Call{Signal: syscall.SIGKILL}},
		{"wait", Call{Waits: true, Last: []byte("last\n"), Exit: 9}},
	}
	for _, c := range cases {
		t.Run(c.arg, func(t *testing.T) {
			c.want.Version, c.want.Stdout, c.want.Stderr = "1.2.3 (fake)", []byte("{\"n\":1}\n"), []byte("warning\n")
			c.want.Files, c.want.Result = map[string]string{"made.txt": "made\n"}, new("{}\n")
			all := t.TempDir()
			calls, each := filepath.Join(all, "claude"), CallsVariable+"="+filepath.Join(all, "*")
			cli := filepath.Join(t.TempDir(), "claude")
			check(t, errors.Join(os.Mkdir(calls, 0o755), os.WriteFile(cli, []byte(fakeScript), 0o755)))
			startFake(t, c.arg, filepath.Join("project", "ready"), each, RecordVariable+"=/elsewhere/codex:"+cli)
			recorded := must(LoadCall(calls, 1))
			delete(recorded.Files, "ready")
			if diff := cmp.Diff(&c.want, recorded); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
			check(t, recorded.Save(calls, 1))
			got := startFake(t, c.arg, filepath.Join("notes", "claude", "1.waiting"), each)
			got.Version, got.Waits = c.want.Version, c.want.Waits
			want := c.want
			want.Stdout, want.Last = append(want.Stdout, want.Last...), nil
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Errorf("played (-want +got):\n%s", diff)
			}
		})
	}
}

// startFake runs a fake in a new project and returns its call. With the argument "wait" it signals the fake to
// end when the file ready exists.
func startFake(t *testing.T, arg, ready string, env ...string) *Call {
	t.Helper()
	w := newWorld(t)
	w.installFake(t, scenario{agent: claude})
	result := filepath.Join(w.tmp, "result.json")
	cmd := exec.CommandContext(t.Context(), filepath.Join(w.bin, "claude"), arg)
	cmd.Dir, cmd.Stdin = w.project, strings.NewReader("Do it.\nResult file: "+result+"\n")
	cmd.Env = append(w.environment(w.bin, env...), NotesVariable+"="+filepath.Join(w.notes, "*"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout := bufio.NewReader(must(cmd.StdoutPipe()))
	check(t, cmd.Start())
	first := must(stdout.ReadString('\n')) // the recorder records each line before it passes it on
	if arg == "wait" {
		w.await(t, ready, "")
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	}
	rest := must(io.ReadAll(stdout))
	err := cmd.Wait()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		t.Fatal(err)
	}
	call := &Call{Stdout: append([]byte(first), rest...), Stderr: []byte(stderr.String()), Exit: status.ExitStatus()}
	if status.Signaled() {
		call.Exit, call.Signal = 0, status.Signal()
	}
	call.Files, err = contents(w.project)
	check(t, err)
	delete(call.Files, "ready")
	call.Result = new(content(t, result))
	return call
}
