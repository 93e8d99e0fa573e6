package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
)

// childCommand is the command line, environment and directory of the process in a tmux pane. It is passed in a file, because
// a tmux server gives its panes its own environment and accepts command lines of at most 16 KB.
type childCommand struct {
	Args []string `json:"args"` // without the program
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
}

// paneVariables lists the variables that describe the terminal, which the pane does not inherit from the starter.
var paneVariables = []string{"TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "LINES", "COLUMNS"}

// writeChildCommand writes a childCommand to a file that only the user can read, in memory if XDG_RUNTIME_DIR exists.
// The caller removes the directory, the pane the file.
func writeChildCommand(args []string) (dir, file string, err error) {
	work, err := os.Getwd()
	if err != nil {
		return "", "", fmt.Errorf("find the current directory: %w", err)
	}
	text, err := json.Marshal(childCommand{Args: args, Env: os.Environ(), Dir: work})
	if err != nil {
		return "", "", fmt.Errorf("write the command for tmux: %w", err)
	}
	if dir, err = os.MkdirTemp(runtimeDir(), "agent-pipelines-tmux-*"); err != nil { // mode 0700
		return "", "", fmt.Errorf("write the command for tmux: %w", err)
	}
	file = filepath.Join(dir, "handover.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", "", errors.Join(fmt.Errorf("write the command for tmux: %w", err), os.RemoveAll(dir))
	}
	return dir, file, nil
}

// runtimeDir returns $XDG_RUNTIME_DIR, which is in memory, if it exists; "" means the directory for temporary files.
func runtimeDir() string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// TmuxStart is the hidden verb `tmux-start`, the first process in a tmux pane: it reads a childCommand from a
// file and executes it.
type TmuxStart struct {
	File string `arg:"" help:"The file with the command."`
}

// Run implements [cli.Verb].
func (v *TmuxStart) Run(context.Context, *cli.App) error {
	text, err := os.ReadFile(v.File)
	if err != nil {
		return fmt.Errorf("read the command of this pane: %w", err)
	}
	if err := os.Remove(v.File); err != nil {
		return fmt.Errorf("remove the command of this pane: %w", err)
	}
	var h childCommand
	if err := json.Unmarshal(text, &h); err != nil {
		return fmt.Errorf("read %s: %w", v.File, err)
	}
	if err := os.Chdir(h.Dir); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the path of this program: %w", err)
	}
	err = syscall.Exec(self, append([]string{self}, h.Args...), paneEnvironment(h.Env, os.Environ()))
	return fmt.Errorf("start %s: %w", self, err)
}

// paneEnvironment returns the starter's environment with the terminal variables of the pane.
func paneEnvironment(starter, pane []string) []string {
	isPane := func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(paneVariables, name)
	}
	env := slices.DeleteFunc(slices.Clone(starter), isPane)
	for _, entry := range pane {
		if isPane(entry) {
			env = append(env, entry)
		}
	}
	return env
}
