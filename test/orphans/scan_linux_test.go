package orphans

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// process is a process that has the word of a trial, in its arguments or in its environment.
type process struct {
	pid  int
	kind string // its kind in the tree; else the name of its program, such as a shell, a plugin or the kernel
}

// away reports whether the process was started to leave the group of its root.
func (f process) away() bool {
	return slices.Contains([]string{"session", "group", "double", "bare", "bare-group", "away-storm", "hopper", "bare-hopper", "away", "daemon", "storm-member"}, f.kind)
}

// hops reports whether the process replaces itself by a successor again and again.
func (f process) hops() bool { return strings.HasSuffix(f.kind, "hopper") }

// scan returns the processes that have the word, also in PID namespaces below this one. Zombies are left out.
func scan(word string) []process {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var all []process
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if pid == os.Getpid() {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		args := strings.Split(string(line), "\x00")
		switch {
		case len(args) > 3 && args[1] == word:
			all = append(all, process{pid, args[3]})
		case has(dir, word):
			all = append(all, process{pid, filepath.Base(args[0])})
		}
	}
	return slices.DeleteFunc(all, func(f process) bool { return dead(f.pid) })
}

func has(dir, word string) bool {
	env, err := os.ReadFile(filepath.Join(dir, "environ"))
	return err == nil && bytes.Contains(env, []byte("TREE_WORD="+word+"\x00"))
}

func dead(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	i := bytes.LastIndexByte(stat, ')')
	return err != nil || i < 0 || bytes.HasPrefix(stat[i+1:], []byte(" Z")) || bytes.HasPrefix(stat[i+1:], []byte(" X"))
}

// insiders returns the processes that stay in the group of their root, and all processes that are not of the tree.
func insiders(all []process) []process {
	return slices.DeleteFunc(slices.Clone(all), process.away)
}
