package crashtest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// fakeVariable is the variable that makes the test binary act as agent-pipelines with the defect in its value, "" for
// none.
const fakeVariable = "CRASHTEST_FAKE"

// Defects of the fake program.
const (
	forgets = "forgets" // loses an iteration after a kill
	fails   = "fails"   // always fails
	leaves  = "leaves"  // leaves a process after a resume
)

// fake is one process of the fake program.
type fake struct {
	defect string
	dir    string // of the session
	epoch  int
	done   int // completed iterations
	ended  bool
}

// A session has fakeIterations iterations. After fakeAsks of them it asks a question.
const (
	fakeIterations = 6
	fakeAsks       = 4
)

func runFake(defect string, args []string) int {
	f := &fake{defect: defect, dir: ".claude/pipeline-runs/s"}
	if os.Getenv("MOCK_MODE") != "true" || !strings.Contains(os.Getenv("AGENT_PIPELINES_SKIP_HOOKS"), "webhook") {
		return 99
	}
	switch args[0] {
	case "answer":
		f.write("answered", args[len(args)-1])
		f.state("paused")
		return 0
	case "start":
		f.write("mkdir", "")
		f.append(event.SessionStart, nil, event.SessionStartData{})
	default:
		f.readJournal()
		if f.epoch == 0 {
			return 14
		}
	}
	if f.ended {
		f.state("completed")
		return 15
	}
	return f.work(args[0] == "resume")
}

func (f *fake) work(resumed bool) int {
	f.epoch++
	_, unanswered := os.Stat(filepath.Join(f.dir, "answered"))
	resumed = resumed && unanswered != nil // an undisturbed run resumes after the answer, too
	f.append(event.KernelStart, nil, event.KernelStartData{PID: os.Getpid()})
	switch {
	case f.defect == fails:
		f.write("state.json", `{"status": "failed", "scheduler": {"failure": {"node": "plan", "message": "no such thing", "faults": [{"path": "$"}]}}}`)
		fmt.Println("it does not work")
		return 7
	case f.defect == leaves && resumed:
		f.leaveProcess()
	case f.defect == forgets && resumed:
		f.done++
	}
	for ; f.done < fakeIterations; f.done++ {
		if f.done == fakeAsks && unanswered != nil {
			f.state("paused", "q-1")
			return 0
		}
		f.iteration(f.done + 1)
	}
	f.append(event.SessionComplete, nil, event.SessionCompleteData{})
	f.state("completed")
	return 0
}

func (f *fake) iteration(n int) {
	time.Sleep(5 * time.Millisecond)
	at := event.Location{Node: "0", Visit: 1, Run: 1, Iteration: n}
	f.write(fmt.Sprintf("iterations/%03d/output.md", n), "said in "+f.dir)
	f.append(event.IterationComplete, &at, event.IterationCompleteData{Summary: fmt.Sprint("worked ", n)})
}

// leaveProcess starts a process of the session and does not end it.
func (f *fake) leaveProcess() {
	cmd := exec.Command("sleep", "600")
	abs, err := filepath.Abs(f.dir)
	must(err)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), fmt.Sprintf("AGENT_PIPELINES_RUN=%s/@%d.1", abs, os.Getpid())}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(cmd.Start())
}

// readJournal reads the position of the session.
func (f *fake) readJournal() {
	b, err := os.ReadFile(filepath.Join(f.dir, "events.jsonl"))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		e, err := event.ParseLine([]byte(line))
		if err != nil {
			continue
		}
		f.epoch, f.ended = max(f.epoch, e.Epoch), e.Type == event.SessionComplete
		if e.Type == event.IterationComplete {
			f.done = e.Cursor.Iteration
		}
	}
}

func (f *fake) append(typ event.Type, at *event.Location, data any) {
	var cursor *event.Cursor
	var key event.Key
	if at != nil {
		cursor, key = at.Cursor(), at.Key(event.KeyAttempt, 1)
	}
	e := event.New(typ, cursor, key, data)
	e.Time, e.Epoch, e.Session, e.RunID = time.Now(), max(f.epoch, 1), "s", fmt.Sprint("PL-", os.Getppid())
	line, err := e.AppendLine(nil)
	must(err)
	file, err := os.OpenFile(filepath.Join(f.dir, "events.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	must(err)
	_, err = file.Write(line)
	must(err)
	must(file.Close())
}

func (f *fake) state(status string, waiting ...string) {
	b, err := json.Marshal(map[string]any{"status": status, "waiting": waiting, "started_at": time.Now()})
	must(err)
	f.write("state.json", string(b))
}

func (f *fake) write(name, text string) {
	path := filepath.Join(f.dir, name)
	must(os.MkdirAll(filepath.Dir(path), 0o700))
	must(os.WriteFile("written", []byte(text), 0o600)) // atomic, because a kill may come at any time
	must(os.Rename("written", path))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func TestMain(m *testing.M) {
	if defect, fake := os.LookupEnv(fakeVariable); fake {
		os.Exit(runFake(defect, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}
