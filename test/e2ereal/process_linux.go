package e2ereal

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Processes lists the other processes that work in root or below, or name root in their environment, each as "pid
// command line". A test that starts all its processes in its own root finds every process that is left, in any
// process group.
func Processes(root string) ([]string, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, dir := range dirs {
		pid := filepath.Base(dir)
		if pid == strconv.Itoa(os.Getpid()) || !belongs(dir, root) {
			continue
		}
		command, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || len(command) == 0 {
			continue // the process has just ended
		}
		found = append(found, pid+" "+strings.TrimSpace(string(bytes.ReplaceAll(command, []byte{0}, []byte{' '}))))
	}
	return found, nil
}

// belongs reports whether a process works in root or below, or names root in its environment. It is false for a
// process of another user, because both are hidden then.
func belongs(dir, root string) bool {
	cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
	environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
	return cwd == root || strings.HasPrefix(cwd, root+"/") || bytes.Contains(environ, []byte(root))
}
