package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// programs is the directory of the programs that TestMain builds: the command (bin/agent-pipelines), the plugins
// (bin/plugins), a plugin for some scripts (bin/serial), and fake agent CLIs (agents).
var programs string

func TestMain(m *testing.M) {
	if exit, was := runFake(); was {
		syscall.Exit(exit) // under make cover, os.Exit would print that no coverage data is written
	}
	flag.Parse()
	if err := shareProcessors(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if flagValue("test.list") != "" || flagValue("test.fuzz") != "" && flagValue("test.run") == "^$" {
		os.Exit(m.Run()) // these runs need no programs, and every process of a fuzzer would build all of them
	}
	os.Exit(testMain(m))
}

// shareProcessors runs twice as many scripts at a time as there are processors, unless -parallel says otherwise: half of
// a script's time is spent waiting for processes and disks.
func shareProcessors() error {
	if flagValue("test.parallel") != strconv.Itoa(runtime.GOMAXPROCS(0)) {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
}

// flagValue returns the value of a flag.
func flagValue(name string) string { return flag.Lookup(name).Value.String() }

// coverVariable names a directory for the coverage of the scripts' command, like GOCOVERDIR, but without an effect on the
// tests of other packages.
const coverVariable = "AGENT_PIPELINES_SCRIPTS_COVER"

func testMain(m *testing.M) int {
	if signal.Ignored(syscall.SIGHUP) { // by nohup; programs of scripts would inherit an ignored signal, not a handled one
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	if programs = os.Getenv(otherUser); programs != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "ap-test-*") // short: sockets are below it
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if counts := os.Getenv(coverVariable); counts != "" {
		if err := os.Setenv("GOCOVERDIR", counts); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if err := errors.Join(buildPrograms(dir), describePlugins(dir), linkSelf(filepath.Join(dir, "agents"), slices.Collect(maps.Keys(fakes))...), linkSelf(filepath.Join(dir, "bin"), terminalProgram)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	programs = dir
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// buildPrograms builds the scripts' programs from this workspace, or copies them from the directory that
// AGENT_PIPELINES_BUILT names; AGENT_PIPELINES_BUILT_SUM is their checksum, for the cache of test results.
func buildPrograms(dir string) error {
	const mainPackage = "./cmd/agent-pipelines"
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	sources := map[string]string{
		"bin/agent-pipelines":            mainPackage,
		"bin/serial/agent-plugin-serial": "./cmd/agent-pipelines/testdata/serial",
		"bin/liar/agent-plugin-liar":     "./cmd/agent-pipelines/testdata/liar",
		"agents/acp-agent":               "./plugins/acp/internal/fakeagent/acp-agent",
		"agents/stubmodel":               "./test/stubmodel/cmd/stubmodel",
	}
	plugins, err := filepath.Glob(filepath.Join(root, "plugins", "*", "go.mod"))
	if err != nil {
		return err
	}
	for _, file := range plugins {
		name := filepath.Base(filepath.Dir(file))
		sources["bin/plugins/agent-plugin-"+name] = "./plugins/" + name
	}
	if from, _ := os.Getenv("AGENT_PIPELINES_BUILT"), os.Getenv("AGENT_PIPELINES_BUILT_SUM"); from != "" && os.Getenv(coverVariable) == "" {
		if err := exec.Command("cp", "-R", from, filepath.Join(dir, "bin")).Run(); err != nil {
			return fmt.Errorf("copy %s: %w", from, err)
		}
		maps.DeleteFunc(sources, func(out, _ string) bool {
			_, err := os.Stat(filepath.Join(dir, out))
			return err == nil
		})
	}
	built := filepath.Join(dir, "built") + string(os.PathSeparator)
	build := func(args ...string) error {
		cmd := exec.Command("go", slices.Concat([]string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", built}, args)...)
		cmd.Dir, cmd.Stderr = root, os.Stderr
		return cmd.Run()
	}
	if err := build(slices.Collect(maps.Values(sources))...); err != nil {
		return fmt.Errorf("build the programs: %w", err)
	}
	if os.Getenv(coverVariable) != "" {
		const modules = "github.com/dodo-digital/agent-pipelines/"
		if err := build("-cover", "-coverpkg="+modules+"kernel/...,"+modules+"engine/...,"+modules+mainPackage[2:], mainPackage); err != nil { // without main nothing is written
			return fmt.Errorf("build the command with -cover: %w", err)
		}
	}
	for out, pkg := range sources {
		to := filepath.Join(dir, out)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Rename(filepath.Join(built, filepath.Base(pkg)), to)); err != nil {
			return err
		}
	}
	return nil
}

// describePlugins lists the plugins once, so that no script or golden case begins with an empty cache of their
// descriptions. Where many processes describe all plugins side by side, the command warns that a plugin is slow.
func describePlugins(dir string) error {
	cmd := exec.Command(filepath.Join(dir, "bin", cli.Program), "plugins", "list")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_CACHE_HOME=" + filepath.Join(dir, "cache"), "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("plugins list: %w\n%s", err, out)
	}
	return nil
}

// TestScripts runs testdata/script: one script for each behaviour, with the real command and real plugins.
func TestScripts(t *testing.T) {
	t.Parallel()
	if !strings.Contains(flagValue("test.run"), "/") {
		t.Cleanup(func() { everyDocumentSeen(t) })
	}
	testscript.Run(t, scripts("testdata/script"))
}

// scripts returns the parameters for the scripts of a directory, with their commands.
func scripts(dir string) testscript.Params {
	var sent collectors
	return testscript.Params{
		Dir:                 dir,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setUp,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    expectExit,
			"await":    await,
			"shows":    shows,
			"grid":     grid,
			"signal":   sendSignal,
			"gone":     waitEnd,
			"events":   events,
			"rechain":  rechain,
			"webhook":  webhook,
			"pids":     pids,
			"sound":    sound,
			"stub":     stub,
			"normal":   normal,
			"collect":  sent.collect,
			"within":   sent.within,
			"traced":   sent.traced,
			"measured": sent.measured,
			"spans":    sent.spans,
		},
	}
}

// rareCollection is the GOGC of the command in tests. Its processes are short, and collect up to three times with Go's
// default, for a sixth of the processor time of all scripts.
const rareCollection = "400"

// goCache returns the directory of the go command's cache, goModules that of its modules.
var (
	goCache   = sync.OnceValues(func() (string, error) { return command(".", nil, "env", "GOCACHE") })
	goModules = sync.OnceValues(func() (string, error) { return command(".", nil, "env", "GOMODCACHE") })
)

// setUp prepares a script: the programs, an empty home and the demonstration project.
func setUp(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("GOGC", rareCollection)
	env.Setenv("XDG_CACHE_HOME", filepath.Join(programs, "cache")) // shared by all scripts, see describePlugins
	cache, err := goCache()
	if err != nil {
		return err
	}
	modules, err := goModules()
	if err != nil {
		return err
	}
	env.Setenv("MODULES", modules)
	env.Setenv("GOCACHE", cache) // with the flags of make test, packages of the standard library are compiled there already
	env.Setenv("GOFLAGS", "-trimpath -vet=off "+os.Getenv("GOFLAGS"))
	env.Setenv("CGO_ENABLED", "0")
	env.Setenv("BIN", filepath.Join(programs, "bin"))
	env.Setenv("PATH", filepath.Join(programs, "bin")+string(os.PathListSeparator)+env.Getenv("PATH"))
	env.Setenv("TZ", "UTC")
	cases, err := filepath.Abs("../../plugins/mock/verify.json")
	if err != nil {
		return err
	}
	env.Setenv("MOCK_CASES", cases)
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		return err
	}
	env.Setenv("EXAMPLES", examples)
	gallery, err := filepath.Abs("gallery")
	if err != nil {
		return err
	}
	env.Setenv("GALLERY", gallery)
	shipped, err := filepath.Abs("library")
	if err != nil {
		return err
	}
	env.Setenv("LIBRARY", shipped)
	if err := privateTmux(env); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(env.WorkDir, "example"), os.DirFS("gallery/demo")); err != nil {
		return err
	}
	return nil
}

// expectExit is "exits <code> <command>...": it runs a command that must exit with the code. The command's --json
// output must match its schema.
func expectExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits <code> <command> [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%s exited with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
	if filepath.Base(args[1]) == cli.Program && slices.Contains(args, "--json") {
		ts.Check(checkDocuments(args[2:], got, ts.ReadFile("stdout")))
	}
}

// patience bounds the waits of scripts. It only ends a broken test; no test depends on its value.
const patience = 60 * time.Second

// eventually polls until a condition holds.
func eventually(ts *testscript.TestScript, condition string, holds func() bool) {
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("waited in vain for %s", condition)
		}
	}
}

// await <file> <pattern>: waits until a file matches.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await <file> <pattern>")
	}
	pattern := regexp.MustCompile(args[1])
	eventually(ts, args[1]+" in "+args[0], func() bool {
		content, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && pattern.Match(content)
	})
}

// signal <name> <session>: sends INT, TERM, KILL, STOP or CONT to the kernel that holds a session.
func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT,
	}
	if neg || len(args) != 2 || signals[args[0]] == 0 {
		ts.Fatalf("usage: signal INT|TERM|KILL|STOP|CONT <session>")
	}
	var lock struct {
		PID int `json:"pid"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(ts.MkAbs(".claude/locks/"+args[1]+".lock"))), &lock))
	ts.Check(syscall.Kill(lock.PID, signals[args[0]]))
}

// gone <file>: waits until the process whose id the file holds has ended.
func waitEnd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone <file>")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	eventually(ts, "the end of process "+strconv.Itoa(pid), func() bool { return syscall.Kill(pid, 0) != nil })
}

// events <session> <type> <count>: checks that the journal of a session has that many events of a type.
func events(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: events <session> <type> <count>")
	}
	want, err := strconv.Atoi(args[2])
	ts.Check(err)
	journal := ts.ReadFile(ts.MkAbs(".claude/pipeline-runs/" + args[0] + "/events.jsonl"))
	if got := strings.Count(journal, `"type":"`+args[1]+`"`); got != want {
		ts.Fatalf("%d events of type %s, want %d:\n%s", got, args[1], want, journal)
	}
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// require ends the test and shows the values unless ok.
func require(t testing.TB, ok bool, values ...any) {
	t.Helper()
	if !ok {
		for _, v := range values {
			t.Logf("%+v", v)
		}
		t.FailNow()
	}
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
