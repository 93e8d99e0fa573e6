package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// writerEvents is the number of events that each branch of TestManyWriters makes. The requirement's figure is
// 10000 (make writers).
var writerEvents = flag.Int("writers.events", 300, "`events` that each branch of TestManyWriters makes")

const (
	writerWord     = "write-session" // argument that makes the test program a writer
	writers        = 8               // processes, each with its own session
	writerBranches = 4               // per process
	syncedEvery    = 200             // one of this many events waits for the disk
	largeEvery     = 997             // one of this many events fills most of a line
)

// D10, U310: eight processes with four branches each write concurrently; a ninth tries to run the session of one of
// them. Nothing is lost, torn or out of order, and the ninth writes nothing.
func TestManyWriters(t *testing.T) {
	root := t.TempDir()
	all := make([]*writer, writers)
	for i := range all {
		all[i] = startWriter(t, root, fmt.Sprintf("w%d", i), *writerEvents)
	}
	for _, w := range all {
		w.waitUntilReady(t)
	}
	ninth := startWriter(t, root, "w0", *writerEvents)
	ninth.begin(t) // lets the ninth end if it got the lock
	if err := ninth.command.Wait(); err == nil || !strings.Contains(ninth.stderr.String(), string(failure.LockContention)) {
		t.Errorf("the ninth: %v, %s", err, &ninth.stderr)
	}
	for _, w := range all {
		w.begin(t)
	}
	for _, w := range all {
		if err := w.command.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", w.session, err, &w.stderr)
		}
	}
	for _, w := range all {
		checkJournal(t, filepath.Join(root, ".claude/pipeline-runs", w.session, "events.jsonl"), w.session, *writerEvents)
	}
}

// writer is a process that runs one session.
type writer struct {
	session string
	command *exec.Cmd
	gate    io.Closer // the writer's agents begin when the gate is closed
	stdout  *bufio.Reader
	stderr  bytes.Buffer
}

func startWriter(t *testing.T, root, session string, events int) *writer {
	t.Helper()
	self := testkit.Must(os.Executable())
	w := &writer{session: session, command: exec.CommandContext(t.Context(), self, writerWord, root, session, strconv.Itoa(events))}
	gate := testkit.Must(w.command.StdinPipe())
	stdout := testkit.Must(w.command.StdoutPipe())
	w.gate, w.stdout, w.command.Stderr = gate, bufio.NewReader(stdout), &w.stderr
	testkit.OK(t, w.command.Start())
	return w
}

// waitUntilReady returns when all branches have called their agents.
func (w *writer) waitUntilReady(t *testing.T) {
	t.Helper()
	for range writerBranches {
		if _, err := w.stdout.ReadString('\n'); err != nil {
			t.Fatalf("%s: %v\n%s", w.session, err, &w.stderr)
		}
	}
}

func (w *writer) begin(t *testing.T) {
	t.Helper()
	if err := w.gate.Close(); err != nil {
		t.Error(err)
	}
}

// writeSession is the main function of a writer, with the arguments root, session and events. It returns the exit code.
func writeSession(args []string) int {
	events, err := strconv.Atoi(args[2])
	if err == nil {
		err = runWriter(args[0], args[1], events)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", failure.KindOf(err), err)
		return 1
	}
	return 0
}

func runWriter(root, session string, events int) (err error) {
	var gate sync.WaitGroup
	gate.Go(func() { _, _ = io.Copy(io.Discard, os.Stdin) }) // an error opens the gate, too
	options := []engine.Option{
		engine.WithWorkDir(root), engine.WithConfigDir(filepath.Join(root, "config")), engine.WithCacheDir("-"), engine.WithExecutable("-"),
		engine.WithEnvironment(nil), engine.WithVersion("test"),
	}
	var branches []plan.BlockProvider
	for i := range writerBranches {
		name := fmt.Sprintf("b%d", i)
		branches = append(branches, plan.BlockProvider{Name: name})
		options = append(options, engine.WithProvider(toolAgent{name, events, &gate}))
	}
	e, err := engine.NewEngine(options...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close(context.Background())) }()
	_, err = e.Run(context.Background(), engine.RunOptions{Plan: &plan.Plan{
		Version: plan.Version, Pipeline: plan.Pipeline{Name: "many"}, Session: plan.Session{Name: session},
		Nodes: []plan.Node{parallelNode("0", "block", branches, blockStage("work", 1))},
	}})
	return err
}

// toolAgent is an agent that makes many tool calls.
type toolAgent struct {
	name  string
	calls int
	gate  *sync.WaitGroup
}

func (a toolAgent) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindProvider, Name: a.name, Provider: &sdk.ProviderTraits{DefaultModel: "m"}}
}

func (a toolAgent) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	fmt.Println(a.name)
	a.gate.Wait()
	for n := range a.calls {
		call := sdk.ToolCall{CallID: strconv.Itoa(n), Tool: "tool-of-" + a.name, Args: json.RawMessage(`{"n":` + strconv.Itoa(n) + `}`)}
		if n%largeEvery == 0 { // "<" takes six bytes in a line
			call.Args = json.RawMessage(`{"pad":"` + strings.Repeat("<", 8000) + `"}`)
		}
		if n%syncedEvery != 0 {
			x.Observe(call)
		} else if _, err := x.Call(ctx, call); err != nil {
			return sdk.ExecuteResult{}, err
		}
	}
	return sdk.ExecuteResult{}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"done"}`), 0o644)
}

// checkJournal checks every line of a journal.
func checkJournal(t *testing.T, file, session string, events int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
		return
	}
	if !bytes.HasSuffix(text, []byte{'\n'}) {
		t.Errorf("%s: the last line is cut", session)
	}
	next := map[string]int{} // branch -> number of its next call
	counts := map[event.Type]int{}
	seq := int64(0)
	for line := range bytes.Lines(text) {
		e, err := event.ParseLine(bytes.TrimSuffix(line, []byte{'\n'}))
		seq++
		if err != nil || !json.Valid(line) || len(line) > event.MaxLine || e.Session != session || e.Seq != seq {
			t.Fatalf("%s: line %d of %d bytes: seq %d, session %q, %v", session, seq, len(line), e.Seq, e.Session, err)
		}
		counts[e.Type]++
		if e.Type != event.ToolCall {
			continue
		}
		call, err := event.Decode[event.ToolCallData](e)
		if err != nil || call.CallID != strconv.Itoa(next[e.Cursor.Provider]) || call.Tool != "tool-of-"+e.Cursor.Provider {
			t.Fatalf("%s: line %d: %+v of branch %s, want call %d, %v", session, seq, call, e.Cursor.Provider, next[e.Cursor.Provider], err)
		}
		next[e.Cursor.Provider]++
	}
	want := map[event.Type]int{
		event.SessionStart: 1, event.KernelStart: 1, event.ToolCall: writerBranches * events, event.IterationComplete: writerBranches,
		event.ParallelProviderComplete: writerBranches, event.SessionComplete: 1,
	}
	for typ, n := range want {
		if counts[typ] != n {
			t.Errorf("%s: %d events of type %s, want %d", session, counts[typ], typ, n)
		}
	}
	for branch, n := range next {
		if n != events {
			t.Errorf("%s: branch %s has %d calls, want %d", session, branch, n, events)
		}
	}
}
