package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// fill fills the mounted file system of 1 MiB except for left bytes.
func (w world) fill(left int) {
	w.t.Helper()
	w.check(os.WriteFile(w.path(runs+"/fill"), make([]byte, 1<<20-left), 0o644))
}

func (w world) free() { w.check(os.Remove(w.path(runs + "/fill"))) }

// D10, U223: TestFullDisk leaves little space, so that the disk becomes full at several moments. Then the run stops
// with an error that names the fault, the place and the remedy. When there is space again, one resume completes the
// session as if undisturbed.
func TestFullDisk(t *testing.T) {
	pages := []int{0, 2, 5, 8, 10, 14, 19, 30}
	if *every {
		pages = nil
		for n := range 45 {
			pages = append(pages, n)
		}
	}
	stopped := 0
	for _, n := range pages {
		t.Run(fmt.Sprint(n*4, " KiB left"), func(t *testing.T) {
			w := newWorld(t, calm)
			w.mount(runs, "1m")
			w.fill(n * 4096)
			code, output := w.run(start()...)
			w.nothingLeft()
			if code == 0 {
				w.free()
				w.complete()
				return
			}
			stopped++
			w.checkOutput(code, output, 1, "no space left on device", w.path(session), "free some space", "(state_corrupt)")
			w.free()
			w.completes()
		})
	}
	if stopped < len(pages)/2 {
		t.Errorf("the disk was full in %d of %d runs", stopped, len(pages))
	}
}

// TestFullStateDirectory checks a session whose head cannot be replaced because the state directory is full. It is refused
// with the remedy, and continues once there is space. A session without an older head runs.
func TestFullStateDirectory(t *testing.T) {
	const state = "home/.local/state"
	w := newWorld(t, slow)
	w.mount(state, "64k")
	w.killed(start()...)
	_ = os.WriteFile(w.path(state+"/fill"), make([]byte, 1<<17), 0o600) // as much as fits
	w.write("mock.json", calm)
	w.must(1, []string{"write the heads of journals", "no space left on device", "free some space", w.path(state), "(state_corrupt)"}, "resume", "s", "--quiet")
	w.must(0, nil, "session", "verify", "s")
	w.must(0, nil, "pipeline", "p", "other", "--foreground", "--quiet")
	w.check(os.Remove(w.path(state + "/fill")))
	w.must(0, nil, "resume", "s", "--quiet")
	w.complete()
}

// TestAgentFillsTheDisk checks a run whose agent fills the disk during its work. Finished work stays, and status shows
// why the session is paused.
func TestAgentFillsTheDisk(t *testing.T) {
	w := newWorld(t, `{"replies": [{"node": "a", "iteration": 2, "times": 1, "output": "0123456789abcdef", "output_repeat": 100000}, {"output": "${NODE} ${ITERATION}", "result": {"summary": "${NODE} ${ITERATION}"}}]}`)
	w.mount(runs, "1m")
	w.must(1, []string{"no space left on device", "To resume: agent-pipelines resume s"}, start()...)
	w.must(0, []string{"paused (error)", "no space left on device", "agent-pipelines resume s"}, "status", "s")
	w.write("mock.json", calm)
	w.must(0, nil, "resume", "s", "--quiet")
	w.complete()
}

// TestReadOnly checks that a read-only directory is reported before any work, and that no session is made.
func TestReadOnly(t *testing.T) {
	for _, tt := range []struct{ name, dir string }{
		{"the project", "."}, {"its .claude", ".claude"}, {"the sessions", runs}, {"the locks", ".claude/locks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, calm)
			w.mkdir(tt.dir)
			w.readOnly(tt.dir)
			w.must(1, []string{"read-only file system", w.path(".claude"), "folder writable", "(state_corrupt)"}, start()...)
			w.must(0, nil, "list")
			if _, err := os.Stat(w.path(session)); err == nil {
				t.Error("a session was made")
			}
			w.nothingLeft()
		})
	}
	t.Run("the home", func(t *testing.T) {
		w := newWorld(t, calm)
		w.readOnly("home")
		w.must(0, nil, start()...)
		w.complete()
	})
}

// TestTemporaryDirectory checks that a run works with a full, read-only or missing TMPDIR. Sockets need no space, and
// the kernel tries other directories for them.
func TestTemporaryDirectory(t *testing.T) {
	for _, name := range []string{"full", "read-only", "missing"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, calm)
			switch name {
			case "full":
				w.mount("tmp", "64k")
				_ = os.WriteFile(w.path("tmp/fill"), make([]byte, 1<<17), 0o644) // as much as fits
			case "read-only":
				w.mkdir("tmp")
				w.readOnly("tmp")
			}
			cmd := w.command(start()...)
			cmd.Env = append(cmd.Env, "TMPDIR="+w.path("tmp"), "XDG_RUNTIME_DIR="+w.path("tmp"))
			code, output := w.finish(cmd)
			w.checkOutput(code, output, 0)
			w.complete()
		})
	}
}

// TestFilesDisappear removes, renames or empties the session's directory or one of its files while the kernel runs.
func TestFilesDisappear(t *testing.T) {
	replaced := []string{"was removed or replaced while in use", "(state_corrupt)"}
	for _, tt := range []struct {
		name  string
		do    func(w world) error
		texts []string // in the kernel's output, nil if it continues
		back  func(w world) error
		then  int // the exit code of the resume
	}{
		{"removed", func(w world) error { return os.RemoveAll(w.path(session)) }, replaced, nil, 14},
		{
			"renamed", func(w world) error { return os.Rename(w.path(session), w.path(runs+"/moved")) }, replaced,
			func(w world) error { return os.Rename(w.path(runs+"/moved"), w.path(session)) }, 0,
		},
		{"all of .claude removed", func(w world) error { return os.RemoveAll(w.path(".claude")) }, replaced, nil, 14},
		{"the journal removed", func(w world) error { return os.Remove(w.path(journal)) }, []string{"removed or replaced", "(state_corrupt)", "resume the session"}, nil, 22},
		{"the journal emptied", func(w world) error { return os.Truncate(w.path(journal), 0) }, []string{"it shrank", "(state_corrupt)"}, nil, 22},
		{"state.json removed", func(w world) error { return os.Remove(w.path(session + "/state.json")) }, nil, nil, 0},
		{"the lock removed", func(w world) error { return os.Remove(w.path(".claude/locks/s.lock")) }, nil, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, slow)
			u := w.begin(start()...)
			w.check(tt.do(w))
			if tt.texts == nil { // the kernel reports no fault: a signal pauses the session as usual
				stop := u.interrupt()
				code, output := u.end()
				stop()
				w.checkOutput(code, output, 130)
			} else {
				code, output := u.end()
				w.checkOutput(code, output, 1, tt.texts...)
			}
			w.nothingLeft()
			if tt.back != nil {
				if _, err := os.Stat(w.path(session)); err == nil {
					t.Error("something was made in its place")
				}
				w.check(tt.back(w))
			}
			w.write("mock.json", calm)
			w.must(tt.then, nil, "resume", "s", "--quiet")
			if tt.then == 22 { // the head shows the missing lines
				w.must(0, nil, "session", "verify", "s", "--accept")
				w.must(0, nil, "resume", "s", "--quiet")
			}
			if tt.then != 14 {
				w.files()
			} else if matches, _ := filepath.Glob(w.path(session)); len(matches) > 0 {
				t.Errorf("made in its place: %v", matches)
			}
			w.nothingLeft()
		})
	}
}
