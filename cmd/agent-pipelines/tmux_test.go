package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
)

// privateTmux gives a script a tmux server of its own, which begins when it is used and ends with the
// script.
func privateTmux(env *testscript.Env) error {
	dir, err := os.MkdirTemp("", "tmux") // the path of a socket must be short
	if err != nil {
		return err
	}
	env.Setenv("TMUX_TMPDIR", dir)
	env.Defer(func() {
		sockets, err := filepath.Glob(filepath.Join(dir, "*", "default"))
		for _, socket := range sockets {
			_ = exec.Command("tmux", "-S", socket, "kill-server").Run() // it may have ended
		}
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			env.T().Log("tmux of the script: ", err)
		}
	})
	return nil
}

// shows <pattern>...: waits until the screen of the tmux session t of the script matches each pattern, of which ^ and $ are
// the ends of a line.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: shows <pattern>...")
	}
	for _, pattern := range args {
		expression := regexp.MustCompile("(?m)" + pattern)
		eventually(ts, pattern+" on the screen", func() bool {
			cmd := exec.Command("tmux", "capture-pane", "-p", "-t", "t")
			cmd.Env = append(cmd.Environ(), "TMUX=", "TMUX_TMPDIR="+ts.Getenv("TMUX_TMPDIR"))
			screen, err := cmd.Output()
			return err == nil && expression.Match(screen)
		})
	}
}
