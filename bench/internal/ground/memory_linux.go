package ground

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// PeakMemory is the most memory that a living process has had resident, in bytes. It is not taken from
// the process's resource usage, which begins with that of the process that made it.
func PeakMemory(pid int) (float64, error) { return memory(pid, "VmHWM:") }

// ResidentMemory is the memory that a living process has resident, in bytes.
func ResidentMemory(pid int) (float64, error) { return memory(pid, "VmRSS:") }

func memory(pid int, field string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), field); ok {
			kb, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 64)
			return kb * 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has no %s it has ended", pid, field)
}
