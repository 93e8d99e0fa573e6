package kernel_test

import (
	"os/exec"
	"sync"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost/process"
)

// DESIGN 6: what a dead kernel left running is ended before work goes on, and journaled.
func TestSurvivorsAreEnded(t *testing.T) {
	e, dir := stopped(t)
	kernelOfOld := exec.Command("true")
	if err := kernelOfOld.Run(); err != nil {
		t.Fatal(err)
	}
	left := exec.Command("sleep", "600")
	left.Env = []string{process.MarkerVariable + "=" + process.Marker{Run: dir + "/", PID: kernelOfOld.Process.Pid, Start: 1}.String()}
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	var ended error
	var wg sync.WaitGroup
	wg.Go(func() { ended = left.Wait() })
	if result, err := e.Resume(t.Context(), kernel.ResumeOptions{Session: "demo"}); err != nil || !result.Success {
		t.Errorf("%+v, %v", result, err)
	}
	if wg.Wait(); ended == nil {
		t.Error("the survivor ended by itself")
	}
	told := 0
	for _, typ := range types(t, e, "demo") {
		if typ == event.SurvivorEnded {
			told++
		}
	}
	if told != 1 {
		t.Errorf("%d survivors are journaled", told)
	}
}
