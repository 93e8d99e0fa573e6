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

// handover is what a command becomes in a tmux pane. A tmux server gives its panes the environment that
// it was itself started with, and takes command lines of 16 KB at most; so the pane is only told where
// this lies.
type handover struct {
	Args []string `json:"args"` // without the program
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
}

// paneVariables describe the terminal. They are the pane's, not the starter's.
var paneVariables = []string{"TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "LINES", "COLUMNS"}

// handOver writes a handover where nobody else can read it: in memory, where the user has a directory
// there. The caller removes the directory, the pane the file.
func handOver(args []string) (dir, file string, err error) {
	work, err := os.Getwd()
	if err != nil {
		return "", "", fmt.Errorf("find the current directory: %w", err)
	}
	text, err := json.Marshal(handover{Args: args, Env: os.Environ(), Dir: work})
	if err != nil {
		return "", "", fmt.Errorf("hand over to tmux: %w", err)
	}
	if dir, err = os.MkdirTemp(runtimeDir(), "agent-pipelines-tmux-*"); err != nil { // for the user alone
		return "", "", fmt.Errorf("hand over to tmux: %w", err)
	}
	file = filepath.Join(dir, "handover.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", "", errors.Join(fmt.Errorf("hand over to tmux: %w", err), os.RemoveAll(dir))
	}
	return dir, file, nil
}

// runtimeDir is $XDG_RUNTIME_DIR, which lies in memory, if it is there; "" is the one for temporary files.
func runtimeDir() string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// TmuxStart is what runs first in a tmux pane: it takes the handover and becomes the command.
type TmuxStart struct {
	File string `arg:"" help:"Where the handover lies."`
}

func (v *TmuxStart) Run(context.Context, *cli.App) error {
	text, err := os.ReadFile(v.File)
	if err != nil {
		return fmt.Errorf("take over from the command that started this pane: %w", err)
	}
	if err := os.Remove(v.File); err != nil {
		return fmt.Errorf("take over from the command that started this pane: %w", err)
	}
	var h handover
	if err := json.Unmarshal(text, &h); err != nil {
		return fmt.Errorf("read %s: %w", v.File, err)
	}
	if err := os.Chdir(h.Dir); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	err = syscall.Exec(self, append([]string{self}, h.Args...), paneEnvironment(h.Env, os.Environ()))
	return fmt.Errorf("start %s: %w", self, err)
}

// paneEnvironment is the starter's environment with the pane's terminal.
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
