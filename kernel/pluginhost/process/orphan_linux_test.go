package process

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

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
	if err := own.Wait(); err != nil {
		t.Errorf("the host's own child: %v", err)
	}
}
