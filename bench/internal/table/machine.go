package table

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Machine describes the measuring machine in one line of Markdown, with the file system of dir and the commit of the
// workspace root. Unknown values are "unknown".
func Machine(ctx context.Context, root, dir string) string {
	return fmt.Sprintf("%s, %d cores; %s; %s; %s; commit %s; %s, load before it %s.",
		cpu(ctx), runtime.NumCPU(), output(ctx, "", "uname", "-srm"), FileSystem(ctx, dir), runtime.Version(),
		output(ctx, root, "git", "describe", "--always", "--dirty", "--exclude", "*"), time.Now().Format(time.DateOnly), load())
}

func output(ctx context.Context, dir, name string, args ...string) string {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	text, err := c.Output()
	return orUnknown(strings.TrimSpace(string(text)), err)
}

func orUnknown(text string, err error) string {
	if err != nil || text == "" {
		return "unknown"
	}
	return text
}

func cpu(ctx context.Context) string {
	if runtime.GOOS == "darwin" {
		return output(ctx, "", "sysctl", "-n", "machdep.cpu.brand_string")
	}
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return orUnknown(strings.TrimSpace(value), nil)
		}
	}
	return "unknown"
}

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	minute, _, _ := strings.Cut(string(text), " ")
	return orUnknown(minute, err)
}

// FileSystem returns the type of a directory's file system, or "file system unknown" if the type is not available. It
// reads the second column of df -T on Linux; on other systems that column is not the type.
func FileSystem(ctx context.Context, dir string) string {
	lines := strings.Split(output(ctx, "", "df", "-T", dir), "\n")
	if fields := strings.Fields(lines[len(lines)-1]); len(fields) > 2 && runtime.GOOS == "linux" {
		return fields[1]
	}
	return "file system unknown"
}
