// Command account runs a command without its output and prints its cost as JSON. It is small,
// because a process's peak memory begins with that of its parent.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/cost"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: account <command> [argument]…")
		os.Exit(2)
	}
	c := exec.Command(os.Args[1], os.Args[2:]...)
	c.Stderr = os.Stderr
	began := time.Now()
	if err := c.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "account:", err)
		os.Exit(1)
	}
	took := cost.Cost{Seconds: time.Since(began).Seconds(), CPU: (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()}
	if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		took.Peak = float64(u.Maxrss)
		if runtime.GOOS != "darwin" { // macOS reports bytes, others KiB
			took.Peak *= 1024
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(took); err != nil {
		os.Exit(1)
	}
}
