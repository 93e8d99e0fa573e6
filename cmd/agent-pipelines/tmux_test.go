package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// screens is the directory of the golden screens.
var screens = filepath.Join("testdata", "screens")

// privateTmux gives a script its own tmux server, which starts at its first use and ends with the script.
func privateTmux(env *testscript.Env) error {
	dir, err := os.MkdirTemp("", "tmux") // the path of a socket must be short
	if err != nil {
		return err
	}
	env.Setenv("TMUX_TMPDIR", dir)
	env.Defer(func() {
		sockets, err := filepath.Glob(filepath.Join(dir, "*", "default"))
		for _, socket := range sockets {
			_ = exec.Command("tmux", "-S", socket, "kill-server").Run() // the server may have ended
		}
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			env.T().Log("tmux of the script: ", err)
		}
	})
	return nil
}

// terminalProgram is the name of this program where it runs another one at a terminal of its own.
const terminalProgram = "atterminal"

// runAtTerminal runs a command at a new pseudo terminal: atterminal <file with the typed text> <program> <argument>...
// Its standard output stays the caller's. The file "terminal" gets all that the terminal shows; testscript's ttyout lacks
// the text that was still unread when the command ended. The exit code is the command's.
func runAtTerminal(_, _ string, args []string) (exit int, err error) {
	typed, err := os.ReadFile(args[0])
	if err != nil {
		return 0, err
	}
	shown, err := os.Create("terminal")
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdout = os.Stdout
	terminal, err := pty.Start(cmd)
	if err != nil {
		return 0, err
	}
	const endOfInput = 4 // Ctrl-D
	if _, err := terminal.Write(append(typed, endOfInput)); err != nil {
		return 0, err
	}
	if _, err := io.Copy(shown, terminal); err != nil && !errors.Is(err, syscall.EIO) { // Linux reports EIO when the last process has closed the terminal
		return 0, err
	}
	if err := cmd.Wait(); cmd.ProcessState == nil {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), errors.Join(shown.Close(), terminal.Close())
}

// shows <pattern>...: waits until the screen of the script's tmux session t matches each pattern. In a pattern, ^ and $
// match the ends of a line.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: shows <pattern>...")
	}
	for _, pattern := range args {
		expression := regexp.MustCompile("(?m)" + pattern)
		eventually(ts, pattern+" on the screen", func() bool {
			screen, err := capture(ts, "t")
			return err == nil && expression.MatchString(screen)
		})
	}
}

// capture returns the lines on the terminal of a tmux session of the script.
func capture(ts *testscript.TestScript, session string) (string, error) {
	cmd := exec.Command("tmux", "capture-pane", "-p", "-t", "="+session+":")
	cmd.Env = append(cmd.Environ(), "TMUX=", "TMUX_TMPDIR="+ts.Getenv("TMUX_TMPDIR"))
	screen, err := cmd.Output()
	return string(screen), err
}

// unsteady matches the parts of a screen that change without a change of width: times, spinners and the ids of questions.
var unsteady = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\d\d:\d\d:\d\d`), "hh:mm:ss"},
	{regexp.MustCompile(`\b\d:\d\d\b`), "m:ss"},
	{regexp.MustCompile(`[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]`), "⠿"},
	{regexp.MustCompile(`q-[0-9a-f]{8}`), "q-xxxxxxxx"},
}

// calmLooks is the number of equal captures before a screen becomes a golden screen.
const calmLooks = 8

// grid <tmux session> <name>: waits until the whole screen, except its unsteady parts, equals
// testdata/screens/<name>.txt; with -update it writes the file when the screen is stable.
func grid(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: grid <tmux session> <name>")
	}
	file := filepath.Join(screens, args[1]+".txt")
	want, err := os.ReadFile(file)
	if !*update {
		ts.Check(err)
	}
	got, calm := "", 0
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		before := got
		got, err = capture(ts, args[0])
		ts.Check(err)
		for _, c := range unsteady {
			got = c.pattern.ReplaceAllString(got, c.instead)
		}
		switch {
		case !*update && got == string(want):
			return
		case *update && got == before:
			if calm++; calm == calmLooks {
				ts.Check(errors.Join(os.MkdirAll(screens, 0o755), os.WriteFile(file, []byte(got), 0o644)))
				return
			}
			time.Sleep(200 * time.Millisecond)
		default:
			calm = 0
		}
	}
	ts.Fatalf("waited in vain for the screen %s:\n%s", args[1], cmp.Diff(string(want), got))
}
