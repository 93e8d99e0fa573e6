package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// shift adds by to all times of a file. The effect is that of a clock that is set the other way.
func (w world) shift(name string, by time.Duration) {
	w.t.Helper()
	w.write(name, times.ReplaceAllStringFunc(w.read(name), func(text string) string {
		at, err := time.Parse(time.RFC3339Nano, text)
		w.check(err)
		return at.Add(by).Format(time.RFC3339Nano)
	}))
}

// TestClockBetweenKillAndResume sets the clock between a kill and the resume. A pause between iterations does not
// last longer, the journal's times do not go back, and no duration is negative. TestClockChanges in kernel does this
// within a run.
func TestClockBetweenKillAndResume(t *testing.T) {
	for name, by := range map[string]time.Duration{"back by hours": 5 * time.Hour, "back by days": 72 * time.Hour, "forward by days": -72 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, calm)
			w.write(".claude/pipelines/p.yaml", fmt.Sprintf(pipeline, 1.0))
			cmd := w.command(start()...)
			w.check(cmd.Start())
			w.await("a pause", func() bool {
				text, err := os.ReadFile(w.path(journal))
				return err == nil && strings.Contains(string(text), `"timer_set"`)
			})
			w.check(cmd.Process.Kill())
			_ = cmd.Wait() // it was killed
			w.nothingLeft()
			w.shift(journal, by)
			w.shift(session+"/state.json", by)
			for _, verb := range []string{"list", "status"} {
				args := []string{verb}
				if verb == "status" {
					args = append(args, "s")
				}
				if output := w.must(0, nil, args...); regexp.MustCompile(`-\d+[smhd]\b`).MatchString(output) {
					t.Errorf("a negative time in\n%s", output)
				}
			}
			w.must(0, nil, "session", "verify", "s", "--accept") // the shifted times are a change
			w.must(0, nil, "resume", "s", "--quiet")             // a pause of hours or days would exceed patience
			w.complete()
			lines := w.lines()
			if !slices.IsSortedFunc(lines, func(a, b line) int { return a.Timestamp.Compare(b.Timestamp) }) ||
				!slices.IsSortedFunc(lines, func(a, b line) int { return int(a.Seq - b.Seq) }) {
				t.Error("the journal's times or numbers go back")
			}
			for _, name := range []string{journal, session + "/metrics.json", session + "/state.json"} {
				if found := regexp.MustCompile(`"duration[a-z_]*": ?-\d`).FindString(w.read(name)); found != "" {
					t.Errorf("%s: %s", name, found)
				}
			}
		})
	}
}

// TestDamagedLines damages one line of the journal of a killed run. The session then continues, or reports the place
// and the remedy. TestAnyDamage does this for all lines in one process.
func TestDamagedLines(t *testing.T) {
	w := newWorld(t, slow)
	w.killed(start()...)
	whole := strings.SplitAfter(strings.TrimSuffix(w.read(journal), "\n"), "\n")
	whole[len(whole)-1] += "\n"
	kept := t.TempDir()
	w.check(os.CopyFS(kept, os.DirFS(w.path(session))))
	w.write("mock.json", calm)
	kinds := map[string]func(i int) []string{
		"garbage":     func(i int) []string { return insert(whole, i, "garbage {\n") },
		"zeros":       func(i int) []string { return replace(whole, i, strings.Repeat("\x00", len(whole[i])-1)+"\n") },
		"a huge line": func(i int) []string { return insert(whole, i, `{"type":"`+strings.Repeat("x", 3<<20)+"\"}\n") },
		"invalid UTF-8": func(i int) []string {
			return replace(whole, i, strings.Replace(whole[i], `"type"`, "\"t\xff\xfe\"", 1))
		},
		"said twice":    func(i int) []string { return insert(whole, i, whole[i]) },
		"out of order":  func(i int) []string { j := max(i, 1); return replace(replace(whole, j, whole[j-1]), j-1, whole[j]) },
		"lost":          func(i int) []string { return slices.Delete(slices.Clone(whole), i, i+1) },
		"cut off there": func(i int) []string { return append(slices.Clone(whole[:i]), whole[i][:len(whole[i])/2]) },
	}
	n := 0
	for kind, damage := range kinds {
		for i := range whole {
			n++
			if !*every && (i+len(kind))%(len(whole)/2) != 0 {
				continue
			}
			t.Run(fmt.Sprint(kind, " at ", i+1), func(t *testing.T) {
				w := world{t, w.root}
				w.check(os.RemoveAll(w.path(session)))
				w.check(os.CopyFS(w.path(session), os.DirFS(kept)))
				w.write(journal, strings.Join(damage(i), ""))
				if code, output := w.run("status", "s"); code != 0 {
					t.Errorf("status: exit %d\n%s", code, output)
				}
				if code, output := w.run("repair", "s", "--dry-run"); code != 0 && !strings.Contains(output, "agent-pipelines") {
					t.Errorf("repair: exit %d\n%s", code, output)
				}
				code, output := w.run("resume", "s", "--quiet")
				if code == 22 && strings.Contains(output, "session verify s --accept") {
					w.must(0, nil, "session", "verify", "s", "--accept")
					code, output = w.run("resume", "s", "--quiet")
				}
				switch code {
				case 0:
					w.files()
				case 14: // nothing of the beginning is left
				default:
					if !regexp.MustCompile(`line \d+|events \d+|beginning`).MatchString(output) || !strings.Contains(output, "repair s") || !strings.Contains(output, "(state_corrupt)") {
						t.Errorf("resume: exit %d\n%s", code, output)
					}
				}
			})
		}
	}
	if n < 50 {
		t.Errorf("%d places", n)
	}
}

func insert(lines []string, i int, text string) []string {
	return slices.Insert(slices.Clone(lines), i, text)
}

func replace(lines []string, i int, text string) []string {
	lines = slices.Clone(lines)
	lines[i] = text
	return lines
}

// TestDamagedViews checks that state.json is rebuilt whatever its content, and that half a plan is reported with a
// remedy.
func TestDamagedViews(t *testing.T) {
	for _, tt := range []struct {
		name, file, text string
		code             int
		texts            []string
	}{
		{"state.json of garbage", "state.json", "\x00{garbage", 0, nil},
		{"an empty state.json", "state.json", "", 0, nil},
		{"half a plan", "plan.json", `{"version": 1, "nodes": [`, 1, []string{"plan.json", "restore the file", "(state_corrupt)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, slow)
			w.killed(start()...)
			w.write("mock.json", calm)
			w.write(session+"/"+tt.file, tt.text)
			w.must(0, nil, "list")
			w.must(tt.code, tt.texts, "resume", "s", "--quiet")
			if tt.code == 0 {
				w.complete()
			}
		})
	}
}

// U061, U063: TestTwoKernels starts two kernels at once. One has the session, the other reports the lock, and the
// work is done once.
func TestTwoKernels(t *testing.T) {
	rounds := 4
	if *every {
		rounds = 50
	}
	const brief = `{"replies": [{"delay_ms": 300, "output": "${NODE} ${ITERATION}", "result": {"summary": "${NODE} ${ITERATION}"}}]}`
	for _, verb := range []string{"start", "resume"} {
		t.Run(verb, func(t *testing.T) {
			for range rounds {
				w := newWorld(t, brief)
				args := start()
				if verb == "resume" {
					w.write("mock.json", slow)
					w.killed(args...)
					w.write("mock.json", brief)
					args = []string{"resume", "s", "--quiet"}
				}
				var codes [2]int
				var output [2]string
				var wg sync.WaitGroup
				for i := range codes {
					wg.Go(func() { codes[i], output[i] = w.finish(w.command(args...)) })
				}
				wg.Wait()
				loser := slices.Index(codes[:], 16)
				if loser < 0 || codes[1-loser] != 0 || !strings.Contains(output[loser], "(lock_contention)") || !strings.Contains(output[loser], "--force") {
					t.Fatalf("exits %v\n%s\n%s", codes, output[0], output[1])
				}
				w.complete()
			}
		})
	}
}

// TestFewDescriptors checks that a run with few file descriptors completes, or fails with the cause and the remedy.
// With enough descriptors it then continues.
func TestFewDescriptors(t *testing.T) {
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, n := range []int{10, 14, 20, 22, 24, 28, 64} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t, calm)
			cmd := w.command(start()...)
			cmd.Args = append([]string{program, cmd.Path}, cmd.Args[1:]...)
			cmd.Path = program
			cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", limit, n))
			code, output := w.finish(cmd)
			w.nothingLeft()
			if code == 0 {
				w.complete()
				return
			}
			refused++
			w.checkOutput(code, output, code, "too many open files", "ulimit -n")
			w.completes()
		})
	}
	if refused == 0 || refused == 7 {
		t.Errorf("%d of 7 were refused", refused)
	}
}

// TestPluginEnds checks that a call is repeated with a new process if its plugin ends during the call.
func TestPluginEnds(t *testing.T) {
	for _, how := range []string{"exit", "panic", "kill"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t, fmt.Sprintf(`{"replies": [{"node": "a", "iteration": 2, "attempt": 1, "crash": %q, "spawn": {"kind": "plain", "seconds": 600, "pid_file": "child"}}, {"output": "${NODE} ${ITERATION}", "result": {"summary": "${NODE} ${ITERATION}"}}]}`, how))
			code, output := w.finish(w.command(start()...))
			w.checkOutput(code, output, 0)
			w.complete()
			var ended struct{ Error, Type string }
			for _, raw := range strings.Split(strings.TrimSpace(w.read(session+"/stage-00-a/iterations/002/attempts.jsonl")), "\n") {
				var d struct {
					Error string `json:"error"`
					Type  string `json:"error_type"`
				}
				w.check(json.Unmarshal([]byte(raw), &d))
				if d.Type != "" {
					ended.Error, ended.Type = d.Error, d.Type
				}
			}
			if ended.Type != "provider_crashed" || ended.Error == "" {
				t.Errorf("attempts.jsonl: %+v", ended)
			}
		})
	}
}

// TestFlood checks a very long output. Within the protocol's limit a part is kept and the cut is reported. Over the
// limit the attempt fails with a remedy, and the kernel's memory stays below the size of the output.
func TestFlood(t *testing.T) {
	const megabyte = 1 << 20
	for _, tt := range []struct {
		size, code int
		text       string
		file       string
	}{
		{32 * megabyte, 0, "output was cut", "output.md"},
		{160 * megabyte, 1, "over the protocol's limit of 64 MiB", "attempts/01/output.md"},
	} {
		t.Run(fmt.Sprint(tt.size/megabyte, " MiB"), func(t *testing.T) {
			w := newWorld(t, fmt.Sprintf(`{"replies": [{"node": "a", "iteration": 1, "output": %q, "output_repeat": %d}, {"output": "${NODE} ${ITERATION}", "result": {"summary": "${NODE} ${ITERATION}"}}]}`,
				strings.Repeat("0123456789abcdef", 64), tt.size/1024))
			code, output, most := w.watched(start()...)
			t.Logf("the kernel's peak was %d MiB", most/megabyte)
			w.checkOutput(code, output, tt.code, tt.text)
			if most == 0 || tt.size > 64*megabyte && most >= tt.size {
				t.Errorf("the kernel took %d MiB", most/megabyte)
			}
			info, err := os.Stat(w.path(session + "/stage-00-a/iterations/001/" + tt.file))
			if err != nil || info.Size() > megabyte+100 {
				t.Errorf("%s: %+v, %v", tt.file, info, err)
			}
			w.nothingLeft()
		})
	}
}

// TestFloodBeside checks that an agent's messages, its standard error and its plugin's log never block, whatever their
// size. All iterations end as usual, and the kernel's memory stays below 160 MiB.
func TestFloodBeside(t *testing.T) {
	const megabyte = 1 << 20
	quoted := func(text any) string {
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	lines := quoted(strings.Repeat(strings.Repeat("l", 99)+"\n", 160_000))
	for name, tt := range map[string]struct {
		output string
		file   string // the file that has the whole text, "" for none
	}{
		"messages":       {`"messages": ` + quoted(slices.Repeat([]string{strings.Repeat("m", 100)}, 50_000)), ""},
		"log":            {`"log": ` + lines, ""},
		"standard error": {`"stderr": ` + lines, "stderr.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, `{"replies": [{"node": "a", "iteration": 2, "output": "a 2", "result": {"summary": "a 2"}, `+tt.output+`},`+calm[len(`{"replies": [`):])
			code, output, most := w.watched(start()...)
			w.checkOutput(code, output, 0)
			w.complete()
			if most == 0 || most > 160*megabyte {
				t.Errorf("the kernel took %d MiB", most/megabyte)
			}
			w.check(filepath.WalkDir(w.path(session), func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				info, err := d.Info()
				if tall := err == nil && info.Size() > megabyte; tall != (filepath.Base(path) == tt.file) {
					t.Errorf("%s has %d bytes", path, info.Size())
				}
				return err
			}))
		})
	}
}

// TestPluginIsShort checks that a session fails with a short reason if its plugin alone lacks resources. With enough
// resources the session then continues, or starts if it had not begun.
func TestPluginIsShort(t *testing.T) {
	gigabyte := fmt.Sprintf(`"output": %q, "output_repeat": 1000000`, strings.Repeat("0123456789abcdef", 64))
	for name, tt := range map[string]struct {
		limit string // of the shell
		reply string
		code  int
		text  string
	}{
		"memory from the start":      {"ulimit -d 65536", `"output": "a 2"`, 13, "ended before the handshake"},
		"memory for an answer":       {"ulimit -d 400000", gigabyte, 1, "ended unexpectedly"},
		"descriptors from the start": {"ulimit -n 5", `"output": "a 2"`, 13, "ended before the handshake"},
		"descriptors for its server": {"ulimit -n 9", `"output": "a 2"`, 13, "too many open files"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, `{"replies": [{"node": "a", "iteration": 2, `+tt.reply+`},`+calm[len(`{"replies": [`):])
			w.write("short/agent-plugin-mock", "#!/bin/sh\n"+tt.limit+"\nexec "+filepath.Join(bin, "plugins/agent-plugin-mock")+"\n")
			w.check(os.Chmod(w.path("short/agent-plugin-mock"), 0o755))
			code, output := w.run(append(start(), "--plugin-dir", "short")...)
			w.nothingLeft()
			_, fault, _ := strings.Cut(output, "Error: ") // after the plugin's log
			w.checkOutput(code, fault, tt.code, tt.text, "agent-plugin-mock")
			if n := strings.Count(fault, "\n"); n > 30 {
				t.Errorf("%d lines are said:\n%s", n, fault)
			}
			w.write("mock.json", calm)
			w.completes()
		})
	}
}

// watched runs the command. In addition to the results of run it returns the peak of the command's own memory in bytes.
func (w world) watched(args ...string) (code int, output string, peak int) {
	w.t.Helper()
	var text bytes.Buffer
	cmd := w.command(args...)
	cmd.Stdout, cmd.Stderr = &text, &text
	w.check(cmd.Start())
	end := watchMemory(cmd.Process.Pid)
	_ = cmd.Wait() // the caller checks the exit code
	return cmd.ProcessState.ExitCode(), text.String(), end()
}

// watchMemory begins to follow the peak of a process's own memory. The function peak ends that and returns the peak in
// bytes. The usage from wait would include the process's children, which are plugins here.
func watchMemory(pid int) (peak func() int) {
	var wg sync.WaitGroup
	ended, most := make(chan struct{}), 0
	wg.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // empty after the process has ended
			if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
				var kib int
				if n, _ := fmt.Sscan(rest, &kib); n == 1 {
					most = max(most, kib<<10)
				}
			}
			select {
			case <-ended:
				return
			case <-tick.C:
			}
		}
	})
	return func() int { close(ended); wg.Wait(); return most }
}
