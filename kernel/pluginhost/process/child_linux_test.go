package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestEscapedGrandchildIsEnded(t *testing.T) {
	restore := must(AdoptOrphans())
	defer restore()
	// A process is tagged after its start: its earlier children are known only by their environment.
	const sealed = "until grep -q '^Max file locks *[0-9]' /proc/$$/limits; do sleep 0.01; done; "
	for name, line := range map[string]string{
		"a session of its own":    "setsid sh -c \"$GRANDCHILD\" &",
		"... without environment": sealed + "setsid -f env -i sh -c \"$GRANDCHILD\"",
	} {
		t.Run(name, func(t *testing.T) {
			var leaked []Survivor // before the child counts as ended
			marker := filepath.Join(t.TempDir(), "said")
			line = "GRANDCHILD='echo $$; : >" + marker + "; exec sleep 3600'\n" + line + "\nuntil [ -e " + marker + " ]; do sleep 0.01; done; exit 0"
			c := start(t, line, func(s *Spec) { s.OnLeak = func(left []Survivor) { leaked = left } })
			child := firstPID(t, c)
			await(t, c)
			assertGone(t, child)
			if len(leaked) != 1 || leaked[0].PID != child || !leaked[0].Ended {
				t.Errorf("reported %+v, want process %d", leaked, child)
			}
		})
	}
}

func TestVerifiedFileRunsWhateverThePathSays(t *testing.T) {
	echo := must(exec.LookPath("echo"))
	binary := must(os.Open(echo))
	defer binary.Close()
	replaced := filepath.Join(t.TempDir(), "agent-plugin-x")
	writeProgram(t, replaced, "#!/bin/sh\necho replaced\n")
	spawner := NewSpawner()
	defer spawner.Close()
	c := New(spawner, Spec{Path: replaced, Binary: binary, Marker: NewMarker(t.Name())})
	check(t, c.Start(t.Context()))
	go func() { _, _ = io.Copy(io.Discard, c.Stdout()) }()
	await(t, c)
	if got := c.FirstLine(); got != "" {
		t.Errorf("ran %q, want the verified file, which prints an empty line", got)
	}
}

func TestStartWhileTheFileIsBeingWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent-plugin-x")
	sh := must(os.ReadFile("/bin/sh"))
	writer := must(os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700))
	defer writer.Close()
	must(writer.Write(sh))
	spawner := NewSpawner()
	defer spawner.Close()
	c := New(spawner, Spec{Path: path, Marker: NewMarker(t.Name())})
	err := c.Start(t.Context())
	if !errors.Is(err, syscall.ETXTBSY) {
		t.Errorf("Start error %v, want %v after all tries", err, syscall.ETXTBSY)
	}
}

// An orphan of a plugin in another session is reaped when it ends; a child of the host's own group is not.
func TestEndedOrphansAreReaped(t *testing.T) {
	restore := must(AdoptOrphans())
	defer restore()
	parent := exec.Command("/bin/sh", "-c", "setsid true & setsid true & exit 0") // adopted when it exits
	parent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	own := exec.Command("/bin/true")
	check(t, parent.Run())
	check(t, own.Start())
	seen := map[int]string{}
	for deadline := time.Now().Add(10 * time.Second); len(seen) < 2; seen = zombies() {
		if time.Now().After(deadline) {
			t.Fatalf("%d zombies, want the two orphans", len(seen))
		}
		time.Sleep(time.Millisecond)
	}
	if fresh := reapZombies(nil); len(fresh) != len(seen) {
		t.Errorf("%d of %d zombies left after the first look", len(fresh), len(seen))
	}
	reapZombies(seen)
	if left := zombies(); len(left) != 0 {
		t.Errorf("zombies left: %v", left)
	}
	check(t, own.Wait())
}
