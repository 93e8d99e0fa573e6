package pluginhost

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
)

// running lists the processes that carry the marker.
func running(marker string) []string {
	var found []string
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		env, err := os.ReadFile(path)
		if err == nil && bytes.Contains(env, []byte("AGENT_PIPELINES_RUN="+marker+"\x00")) {
			cmd, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, fmt.Sprintf("%s: %s", filepath.Base(filepath.Dir(path)), bytes.ReplaceAll(cmd, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// runs reports whether the process exists and is no zombie.
func runs(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil || syscall.Kill(n, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}

// stopped reports whether all threads of the process are stopped, which happens some time after the signal.
func stopped(pid string) bool {
	stats, _ := filepath.Glob("/proc/" + pid + "/task/*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(stat, []byte(") T ")) {
			return false
		}
	}
	return len(stats) > 0
}

func assertSwept(t *testing.T, found []process.Survivor, pid string) {
	t.Helper()
	require(t, len(found) == 1 && fmt.Sprint(found[0].PID) == pid && found[0].Ended, found, pid)
	eventually(t, "the survivor ends", func() bool { return !runs(pid) })
}
