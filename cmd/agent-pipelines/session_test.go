package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// sessionJournal returns the events of a script's session in the order of the file.
func sessionJournal(ts *testscript.TestScript, session string) []event.Event {
	f, err := os.Open(ts.MkAbs(".claude/pipeline-runs/" + session + "/events.jsonl"))
	ts.Check(err)
	defer f.Close()
	var all []event.Event
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		e, err := event.ParseLine(lines.Bytes())
		if err != nil {
			ts.Fatalf("line %d of the journal: %v: %s", len(all)+1, err, lines.Text())
		}
		all = append(all, e)
	}
	ts.Check(lines.Err())
	return all
}

// rechain <session>: gives each line of a journal that has one the digest of the line before, as a forger could.
func rechain(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: rechain <session>")
	}
	file := ts.MkAbs(".claude/pipeline-runs/" + args[0] + "/events.jsonl")
	digest := regexp.MustCompile(`,"prev":"[^"]*"}$`)
	var text strings.Builder
	above := args[0]
	for line := range strings.Lines(ts.ReadFile(file)) {
		sum := sha256.Sum256([]byte(above))
		above = digest.ReplaceAllString(strings.TrimSuffix(line, "\n"), `,"prev":"`+base64.RawURLEncoding.EncodeToString(sum[:16])+`"}`)
		text.WriteString(above + "\n")
	}
	ts.Check(os.WriteFile(file, []byte(text.String()), 0o600))
}

// pids is "pids <session> kernel|<plugin> <file>": it writes the process ids of the kernels that held
// a session, or of the processes of a plugin, oldest first, one per line. It waits for the first process id.
func pids(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: pids <session> kernel|<plugin> <file>")
	}
	var found string
	eventually(ts, "a process id of "+args[1], func() bool { // the event may reach the journal a moment later
		found = ""
		for _, e := range sessionJournal(ts, args[0]) {
			var d started
			ts.Check(json.Unmarshal(e.Data, &d))
			kernel := args[1] == "kernel" && e.Type == event.KernelStart
			if kernel || e.Type == event.PluginStarted && d.is(args[1]) {
				found += strconv.Itoa(d.PID) + "\n"
			}
		}
		return found != ""
	})
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(found), 0o600))
}

// started is the data of an event on a started process.
type started struct {
	PID    int    `json:"pid"`
	Plugin string `json:"plugin"`
}

// is reports whether the process serves the plugin, from its own binary or bundled.
func (s started) is(plugin string) bool {
	return strings.HasSuffix(s.Plugin, "/agent-plugin-"+plugin) || strings.HasSuffix(s.Plugin, "/agent-pipelines plugin serve "+plugin)
}

// sound is "sound <session>". It checks that the journal's numbers have no gap and that no kernel
// wrote after a later kernel had begun. No iteration of a run may be complete twice.
func sound(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sound <session>")
	}
	epoch, completed := 0, map[string]int64{}
	for i, e := range sessionJournal(ts, args[0]) {
		if e.Seq != int64(i+1) {
			ts.Fatalf("line %d of the journal has number %d", i+1, e.Seq)
		}
		if e.Epoch < epoch {
			ts.Fatalf("line %d (%s) is of kernel start %d, after %d had begun", i+1, e.Type, e.Epoch, epoch)
		}
		epoch = e.Epoch
		if e.Type != event.IterationComplete {
			continue
		}
		id := fmt.Sprintf("%s %s", e.RunID, e.Key)
		if first := completed[id]; first != 0 {
			ts.Fatalf("the iteration %s is complete in line %d and in line %d", e.Key, first, e.Seq)
		}
		completed[id] = e.Seq
	}
}

// volatile matches the values in a session's files that differ between runs; the groups are kept.
var volatile = regexp.MustCompile(
	`("(?:ts|timestamp|[a-z]+_at|iteration_started|start_time|run_id|plan_sha256|trace_id|span_id|parent_span_id|prev|version|sha256)": ?)"[^"]+"` +
		`|("(?:pid|duration_ms)": ?)\d+` +
		`|("environment": ?)\[[^\]]*\]`)

// normal is "normal <session> <file> <out>": it copies a file of a session and replaces times, ids and directories.
func normal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: normal <session> <file> <out>")
	}
	text := ts.ReadFile(ts.MkAbs(".claude/pipeline-runs/" + args[0] + "/" + args[1]))
	text = strings.NewReplacer(ts.Getenv("BIN"), "<BIN>", ts.Getenv("WORK"), "<WORK>").Replace(text)
	text = volatile.ReplaceAllString(text, `$1$2$3"~"`)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(text), 0o600))
}
