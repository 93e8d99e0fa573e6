package soak

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/test/e2ereal"
)

// toll counts the sessions of the command, the kills, the resumes and the events.
type toll struct{ sessions, kills, plugins, resumes, events int }

func (k toll) String() string {
	return fmt.Sprintf("%d sessions, %d kernels and %d plugins killed, %d resumed, %d events, none lost", k.sessions, k.kills, k.plugins, k.resumes, k.events)
}

const pipeline = `
name: soak
defaults: {provider: mock}
nodes:
  - {id: draft, prompt: draft, runs: 4, delay: 0}
  - {id: polish, prompt: polish, runs: 3, delay: 0, inputs: {from: draft}}
`

// kills runs one session after the other with the command until the time end. It kills kernels and plugins at random
// moments, and resumes each session until the session is complete.
func kills(t *testing.T, programs string, end time.Time) toll {
	h := newHome(t, programs)
	var k toll
	file := filepath.Join(h.project, ".claude/pipelines/soak.yaml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(pipeline), 0o644)); err != nil {
		t.Error(err)
		return k
	}
	r := rand.New(rand.NewPCG(uint64(end.UnixNano()), 1))
	usual := 300 * time.Millisecond // average duration of a session
	for k.kills == 0 || time.Now().Before(end) {
		begun := time.Now()
		if err := h.session(&k, r, usual); err != nil {
			t.Error(err)
			return k
		}
		usual = (usual + time.Since(begun)) / 2
	}
	return k
}

// alreadyComplete is the exit code of resume for a complete session.
const alreadyComplete = 15

// session runs one session to its end with up to two kills, checks it and removes it.
func (h home) session(k *toll, r *rand.Rand, usual time.Duration) error {
	k.sessions++
	name := "s" + strconv.Itoa(k.sessions)
	dir := filepath.Join(h.project, ".claude/pipeline-runs", name)
	args := []string{"pipeline", "soak", name, "--foreground"}
	var behind bool // the kernel was killed after it wrote its last line
	for try := 0; ; try++ {
		c, text := h.command(args...)
		if err := c.Start(); err != nil {
			return err
		}
		if try < 2 {
			time.Sleep(time.Duration(r.Int64N(int64(usual))))
			if r.IntN(2) == 0 {
				k.kills++
				_ = c.Process.Kill()
			} else if pid := plugin(dir); pid != 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
				k.plugins++
			}
		}
		err := c.Wait()
		if complete := try > 0 && c.ProcessState.ExitCode() == alreadyComplete; err == nil || complete {
			behind = complete
			break
		}
		if try > 8 {
			return fmt.Errorf("session %s does not end: %w\n%s", name, err, text)
		}
		k.resumes++
		if args = []string{"resume", name}; !began(dir) {
			args = []string{"pipeline", "soak", name, "--foreground"} // the session had not begun
		}
	}
	n, err := checkJournal(dir)
	k.events += n
	return errors.Join(err, h.remaining(name, behind), h.remove(name))
}

func (h home) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	text := &bytes.Buffer{}
	c := exec.Command(filepath.Join(h.programs, "agent-pipelines"), args...)
	c.Dir, c.Env, c.Stdout, c.Stderr = h.project, h.env, text, text
	c.WaitDelay = 10 * time.Second
	return c, text
}

func (h home) remove(name string) error {
	c, text := h.command("session", "rm", name, "--yes")
	if err := c.Run(); err != nil {
		return fmt.Errorf("remove %s: %w\n%s", name, err, text)
	}
	return nil
}

var started = regexp.MustCompile(`"type":"plugin_started".*?"pid":(\d+)`)

// plugin returns the process id of the last plugin of a session, 0 if no plugin runs.
func plugin(dir string) int {
	text, _ := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	all := started.FindAllSubmatch(text, -1)
	if len(all) == 0 {
		return 0
	}
	pid, _ := strconv.Atoi(string(all[len(all)-1][1]))
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if !bytes.Contains(comm, []byte("agent-plugin-mock")) { // the plugin has ended, and another process may have its id
		return 0
	}
	return pid
}

func began(dir string) bool {
	text, _ := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	return bytes.Contains(text, []byte(`"type":"session_start"`))
}

// checkJournal checks the journal of a completed session and returns its number of events. Every line must be JSON, no
// number may be missing, and every iteration must be complete once.
func checkJournal(dir string) (int, error) {
	f, err := os.Open(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines, last := 0, ""
	done := map[string]bool{}
	for scan := bufio.NewScanner(f); scan.Scan(); {
		if len(bytes.TrimSpace(scan.Bytes())) == 0 {
			continue // an empty line, where the unfinished line of a killed kernel was cut off
		}
		var e struct {
			Seq    int
			Type   string
			Cursor *struct {
				NodePath  string `json:"node_path"`
				Iteration int
			}
		}
		if err := json.Unmarshal(scan.Bytes(), &e); err != nil {
			return lines, fmt.Errorf("%s, line %d: %w", dir, lines+1, err)
		}
		if lines++; e.Seq != lines {
			return lines, fmt.Errorf("%s: line %d has the number %d", dir, lines, e.Seq)
		}
		if e.Type == "iteration_complete" && e.Cursor != nil {
			key := fmt.Sprint(e.Cursor.NodePath, "/", e.Cursor.Iteration)
			if done[key] {
				return lines, fmt.Errorf("%s: iteration %s was completed twice", dir, key)
			}
			done[key] = true
		}
		if strings.HasPrefix(e.Type, "session_") {
			last = e.Type
		}
	}
	if last != "session_complete" || len(done) != 7 {
		return lines, fmt.Errorf("%s: the journal ends with %s after %d iterations, not session_complete after 7", dir, last, len(done))
	}
	return lines, nil
}

// remaining waits until no process, lock or temporary file is left, and returns an error if some stay. behind means
// that the last kernel was killed after its last line, so that no later kernel has cleaned up.
func (h home) remaining(session string, behind bool) error {
	var found []string
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		found = h.stray()
		if behind { // the next kernel that starts a plugin removes the directory of a socket; after it nothing may be left
			sockets := filepath.Join(h.temp, "agent-pipelines-socket-")
			found = slices.DeleteFunc(found, func(name string) bool { return strings.HasPrefix(name, sockets) })
		}
		if len(found) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after session %s there is still: %s", session, strings.Join(found, ", "))
		}
	}
}

func (h home) stray() []string {
	var found []string
	for _, pattern := range []string{
		filepath.Join(h.temp, "*"), filepath.Join(h.project, ".claude/locks/*.lock"), filepath.Join(h.project, ".claude/pipeline-runs/*/inbox/*"),
	} {
		names, _ := filepath.Glob(pattern)
		found = append(found, names...)
	}
	processes, _ := e2ereal.Processes(filepath.Dir(h.project))
	return append(found, processes...)
}
