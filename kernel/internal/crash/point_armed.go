//go:build crashpoints

package crash

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// point is made once from the environment; the count lives inside it.
var point = arm(os.Getenv("AGENT_PIPELINES_CRASH_AT"), os.Getenv("AGENT_PIPELINES_CRASH_LOG"))

// Point is where the process may die. Names are "<room>.<act>.<moment>".
func Point(name string) { point(name) }

// arm returns the function that counts the points and dies at the given one. The mutex is held while
// dying, so that nobody gets past the point that was asked for.
func arm(at, logPath string) func(string) {
	target, _ := strconv.Atoi(at) // 0: never
	var mu sync.Mutex
	count := 0
	return func(name string) {
		mu.Lock()
		defer mu.Unlock()
		count++
		record(logPath, count, name)
		if count == target {
			_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way
		}
	}
}

func record(path string, n int, name string) {
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		panic(fmt.Sprintf("crash log: %v", err)) // a harness that records nothing would prove nothing
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%d %s\n", n, name); err != nil {
		panic(fmt.Sprintf("crash log: %v", err))
	}
}
