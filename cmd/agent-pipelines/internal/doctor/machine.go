package doctor

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// fewFiles is a limit of open files that a run with some plugins and agents side by side may reach.
const fewFiles = 256

// OpenFiles checks the limit of open files.
func OpenFiles() Check {
	c := Check{Area: "machine", Name: "open files", State: OK}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		c.State, c.Result = Note, "the limit cannot be read: "+err.Error()
		return c
	}
	return openFiles(c, limit.Cur)
}

func openFiles(c Check, limit uint64) Check {
	c.Result = fmt.Sprintf("at most %d", limit)
	if limit > 1<<40 {
		c.Result = "no limit"
	}
	if limit < fewFiles {
		c.State, c.Do = Note, "raise the limit: ulimit -n 1024"
	}
	return c
}

// versionLimit bounds the time in which a program must print its version.
const versionLimit = 3 * time.Second

// Program looks for a program and asks it for its version, which takes twice versionLimit at most. do is the remedy for a
// missing program.
func Program(ctx context.Context, name, flag, do string) Check {
	c := Check{Area: "machine", Name: name, State: Note, Do: do}
	path, err := exec.LookPath(name)
	if err != nil {
		c.Result = "not installed"
		return c
	}
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, flag)
	cmd.WaitDelay = versionLimit
	out, err := cmd.Output()
	line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
	if err != nil || len(line) == 0 {
		c.Result, c.Do = fmt.Sprintf("%s %s does not print its version", path, flag), "run it by hand to see why"
		return c
	}
	version := strings.TrimSpace(strings.TrimPrefix(string(line), name))
	return Check{Area: "machine", Name: name, State: OK, Result: strings.TrimPrefix(version, "version ") + ", " + path}
}
