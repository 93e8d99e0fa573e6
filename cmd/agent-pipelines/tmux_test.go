package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"

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
