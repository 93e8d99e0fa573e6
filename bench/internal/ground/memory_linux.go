package ground

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// PeakMemory returns the peak resident memory of a living process, in bytes. It does not use getrusage, whose peak
// begins with the peak of the parent process.
func PeakMemory(pid int) (float64, error) { return memory(pid, "VmHWM:") }

// ResidentMemory returns the resident memory of a living process, in bytes.
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
