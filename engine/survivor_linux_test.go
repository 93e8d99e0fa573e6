package engine_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
)

// awaitEnvironment waits until a started process has its environment in /proc: the start is reported a moment
// earlier.
func awaitEnvironment(t *testing.T, pid int) {
	t.Helper()
	for t.Context().Err() == nil {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err != nil || len(text) > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// DESIGN 6: processes left by a dead kernel, also shared ones, are ended before the work continues, and
// journaled.
func TestSurvivorsAreEnded(t *testing.T) {
	t.Run("of the session", func(t *testing.T) { testSurvivor(t, func(session string) string { return session + "/" }) })
	t.Run("shared", func(t *testing.T) {
		testSurvivor(t, func(session string) string { return filepath.Dir(session) + "/*" })
	})
}

func testSurvivor(t *testing.T, run func(session string) string) {
	e, dir := pausedSession(t)
	kernelOfOld := exec.Command("true")
	testkit.OK(t, kernelOfOld.Run())
	left := exec.Command("sleep", "600")
	left.Env = []string{process.MarkerVariable + "=" + process.Marker{Run: run(dir), PID: kernelOfOld.Process.Pid, Start: 1}.String()}
	testkit.OK(t, left.Start())
	awaitEnvironment(t, left.Process.Pid)
	var ended error
	var wg sync.WaitGroup
	wg.Go(func() { ended = left.Wait() })
	testkit.OK(t, completed(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})))
	if wg.Wait(); ended == nil {
		t.Error("the survivor ended without a signal")
	}
	if n := count(t, e, event.SurvivorEnded); n != 1 {
		t.Errorf("%d survivors are journaled", n)
	}
}
