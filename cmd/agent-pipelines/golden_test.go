package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

// goldenDir holds a script for each golden case, the expected result in want/<case>.txtar, and the initial project of all
// cases in project/.
const goldenDir = "testdata/golden"

// TestGolden runs each case in a fresh project, with the real command, real plugins and fakes for the agent CLIs (see
// fakes_test.go). It compares the output, exit codes, files, journal and prompts. With -update it rewrites the expected
// result: compare the difference with the Bash engine before you commit it.
func TestGolden(t *testing.T) {
	t.Parallel()
	checkGoldenFiles(t)
	testscript.Run(t, testscript.Params{
		Dir:                 goldenDir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setUpGolden,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"run":    runStep,
			"golden": compareGolden,
			"hold":   holdFile,
			"await":  await,
			"signal": sendSignal,
			"gone":   waitEnd,
		},
	})
}

// checkGoldenFiles fails if a case does not end with the command golden, or if an expected result belongs to no case.
func checkGoldenFiles(t *testing.T) {
	t.Helper()
	cases, err := fs.Glob(os.DirFS(goldenDir), "*.txtar")
	require(t, err == nil && len(cases) != 0, err)
	for _, name := range cases {
		archive := must(txtar.ParseFile(filepath.Join(goldenDir, name)))
		lines := strings.Split(strings.TrimSpace(string(archive.Comment)), "\n")
		require(t, strings.HasPrefix(lines[len(lines)-1], "golden"), name)
	}
	wants := must(fs.Glob(os.DirFS(goldenDir), "want/*.txtar"))
	for _, want := range wants {
		if !slices.Contains(cases, filepath.Base(want)) {
			t.Errorf("%s belongs to no case", want)
		}
	}
}

// goldenKey is the key of a script's case in its environment.
type goldenKey struct{}

// goldenCase is the state of a running case.
type goldenCase struct {
	steps  strings.Builder              // command lines, exit codes and output of the steps
	before map[string][sha256.Size]byte // digests of the files at the beginning
}

// setUpGolden prepares a case: the programs, the fakes, an empty home and the shared project.
func setUpGolden(env *testscript.Env) error {
	bin := filepath.Join(programs, "bin")
	home, sockets := filepath.Join(env.WorkDir, "home"), filepath.Join(programs, "run")
	for _, dir := range []string{home, sockets, filepath.Join(env.WorkDir, fakeDir, "calls")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	for name, value := range map[string]string{
		"HOME":            home,
		"XDG_CACHE_HOME":  filepath.Join(programs, "cache"), // shared by all cases, see describePlugins
		"BIN":             bin,
		"PATH":            strings.Join([]string{filepath.Join(programs, "agents"), bin, env.Getenv("PATH")}, string(os.PathListSeparator)),
		"TZ":              "UTC",
		"LIVE_PID":        fmt.Sprint(os.Getpid()),
		"GORACE":          "atexit_sleep_ms=0",
		"GOGC":            rareCollection,
		fakeStage:         env.WorkDir,
		"XDG_RUNTIME_DIR": sockets,
	} {
		env.Setenv(name, value)
	}
	if err := copyMissing(filepath.Join(goldenDir, "project"), env.WorkDir); err != nil {
		return err
	}
	g := &goldenCase{before: map[string][sha256.Size]byte{}}
	env.Values[goldenKey{}] = g
	return eachFile(env.WorkDir, func(rel string, content []byte) error {
		g.before[rel] = sha256.Sum256(content)
		return nil
	})
}

// copyMissing copies the files of the shared project that a case does not have.
func copyMissing(from, to string) error {
	return eachFile(from, func(rel string, content []byte) error {
		target := filepath.Join(to, rel)
		if _, err := os.Stat(target); err == nil {
			return nil
		}
		return errors.Join(os.MkdirAll(filepath.Dir(target), 0o700), os.WriteFile(target, content, 0o600))
	})
}

// eachFile calls see with the path, relative to dir, and the content of every file below dir.
func eachFile(dir string, see func(rel string, content []byte) error) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return see(rel, content)
	})
}

// runStep is "run [-unordered] [NAME=value]... [argument]...": it runs agent-pipelines with the arguments and records the
// exit code and the output in the result. -unordered sorts the lines of standard error, for parallel providers.
func runStep(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: run [-unordered] [NAME=value]... [argument]...")
	}
	unordered := len(args) > 0 && args[0] == "-unordered"
	if unordered {
		args = args[1:]
	}
	line := strings.TrimSpace("$ " + strings.Join(args, " "))
	args, restore := assign(ts, args)
	defer restore()
	exit := 0
	err := ts.Exec("agent-pipelines", args...)
	var failure *exec.ExitError
	switch {
	case errors.As(err, &failure):
		exit = failure.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	steps := &ts.Value(goldenKey{}).(*goldenCase).steps
	fmt.Fprintf(steps, "%s\nexit %d\n", line, exit)
	for _, stream := range []string{"stdout", "stderr"} {
		text := ts.ReadFile(stream)
		if unordered && stream == "stderr" {
			text = strings.TrimLeft(strings.Join(slices.Sorted(strings.Lines(text)), ""), "\n")
		}
		if text != "" {
			fmt.Fprintf(steps, "--- %s\n%s", stream, ended(text))
		}
	}
	steps.WriteString("\n")
}

// assign sets the variables at the beginning of the arguments until restore is called, and returns the other arguments.
func assign(ts *testscript.TestScript, args []string) (rest []string, restore func()) {
	before := map[string]string{}
	for len(args) > 0 && strings.Contains(args[0], "=") && !strings.HasPrefix(args[0], "-") {
		name, value, _ := strings.Cut(args[0], "=")
		before[name] = ts.Getenv(name)
		ts.Setenv(name, value)
		args = args[1:]
	}
	return args, func() {
		for name, value := range before {
			ts.Setenv(name, value)
		}
	}
}

// holdFile is "hold <file>": the test holds the file's lock until the case ends, as another process would.
func holdFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hold <file>")
	}
	f, err := os.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(func() { f.Close() })
	ts.Check(syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
}

// compareGolden is "golden [-without <glob>]...", the last line of a case: it compares the result with the expected one. It
// ignores the contents of files that match a glob.
func compareGolden(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: golden [-without <glob>]...")
	}
	var without []string
	for ; len(args) > 0; args = args[2:] {
		if args[0] != "-without" || len(args) < 2 {
			ts.Fatalf("usage: golden [-without <glob>]...")
		}
		without = append(without, args[1])
	}
	got, err := ts.Value(goldenKey{}).(*goldenCase).result(ts.Getenv("WORK"), without)
	ts.Check(err)
	file := filepath.Join(goldenDir, "want", ts.Name()+".txtar")
	if *update {
		ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
		ts.Check(os.WriteFile(file, txtar.Format(&txtar.Archive{Files: got}), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		ts.Fatalf("%v: run with -update, and read what that writes", err)
	}
	if changes := diff.Diff(file, want, "got", txtar.Format(&txtar.Archive{Files: got})); len(changes) > 0 {
		ts.Fatalf("run with -update and review the change if it is meant:\n%s", changes)
	}
}
