package pluginhost

import (
	"fmt"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
)

func assertSwept(t *testing.T, found []process.Survivor, pid string) {
	t.Helper()
	if len(found) != 1 || fmt.Sprint(found[0].PID) != pid || !found[0].Ended {
		t.Errorf("Sweep = %+v, want process %s, ended", found, pid)
	}
	eventually(t, "the survivor ends", func() bool { return !runs(pid) })
}
