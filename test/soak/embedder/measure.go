package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/dodo-digital/agent-pipelines/test/soak/sample"
)

// measure returns the resources of this process while no session runs.
func measure() sample.Sample {
	runtime.GC()
	runtime.GC() // again, for memory that finalizers released
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s := sample.Sample{HeapKB: int(m.HeapAlloc >> 10), Goroutines: runtime.NumGoroutine(), RSSKB: residentKB()}
	fds, _ := os.ReadDir("/proc/self/fd")
	s.Descriptors = len(fds) - 1 // without the one that lists them
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		s.Children += len(bytes.Fields(text))
	}
	temps, _ := os.ReadDir(os.TempDir())
	s.Temps = len(temps)
	return s
}

// residentKB returns the resident memory, VmRSS of proc_pid_status(5), in KiB.
func residentKB() int {
	text, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	n := 0
	_, _ = fmt.Sscan(after, &n) // 0 where the system does not show it
	return n
}

// replace returns the pipeline with the provider.
func replace(text, provider string) string { return strings.ReplaceAll(text, "PROVIDER", provider) }
