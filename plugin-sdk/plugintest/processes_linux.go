package plugintest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
)

// markedProcesses returns the command lines of living processes that were started with the entry in their
// environment. Other users' processes are not visible.
func markedProcesses(entry string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	var found []string
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !slices.ContainsFunc(bytes.Split(env, []byte{0}), func(e []byte) bool { return string(e) == entry }) {
			continue
		}
		dir := filepath.Dir(file)
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		found = append(found, filepath.Base(dir)+" "+string(bytes.TrimSpace(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))))
	}
	return found
}
