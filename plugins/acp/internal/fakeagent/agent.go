package fakeagent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// LogVariable is the environment variable with the path of a file. The agent appends every line that it receives.
const LogVariable = "ACP_AGENT_LOG"

// Main runs the script whose path is the first argument. Main calls exit, usually os.Exit, when the script says so and
// at the end.
func Main(exit func(code int)) {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: acp-agent SCRIPT")
		exit(2)
	}
	script, err := readScript(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		exit(2)
	}
	a := &agent{exit: exit, script: script, answers: map[string]chan json.RawMessage{}, cancelled: make(chan struct{})}
	for _, s := range script.Start {
		a.doStep(s)
	}
	a.listen(os.Stdin)
	if script.Stay {
		<-time.After(time.Hour) // without cgo, a program that waits without a timer ends as deadlocked
	}
	exit(0)
}

// agent is a running fake agent.
type agent struct {
	exit   func(int)
	script Script

	writing sync.Mutex

	mu       sync.Mutex // guards:
	requests int
	answers  map[string]chan json.RawMessage

	cancel    sync.Once
	cancelled chan struct{}

	cwd, session, prompt, result string // set before the turn that reads them
	turns                        int
	resumed                      bool
}

type line struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

// listen handles messages until stdin ends. Turns run concurrently.
func (a *agent) listen(in io.Reader) {
	var turns sync.WaitGroup
	r := bufio.NewReader(in)
	for {
		raw, err := r.ReadBytes('\n')
		if err != nil {
			return // a running turn is abandoned
		}
		logLine(raw)
		var m line
		if json.Unmarshal(raw, &m) != nil {
			panic("not JSON: " + string(raw))
		}
		switch m.Method {
		case "session/cancel":
			a.cancel.Do(func() { close(a.cancelled) })
		case "":
			a.deliver(m)
		case "session/prompt":
			turns.Wait()
			turns.Go(func() { a.turn(m) })
		default:
			a.answer(m)
		}
	}
}

func logLine(raw []byte) {
	path := os.Getenv(LogVariable)
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, _ = f.Write(raw)
		_ = f.Close()
	}
}

// answer answers every request except prompts.
func (a *agent) answer(m line) {
	if e, ok := a.script.Errors[m.Method]; ok {
		a.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": e})
		return
	}
	var p struct {
		Cwd       string `json:"cwd"`
		SessionID string `json:"sessionId"`
		ConfigID  string `json:"configId"`
		Value     any    `json:"value"`
	}
	_ = json.Unmarshal(m.Params, &p)
	var result any = struct{}{}
	switch m.Method {
	case "initialize":
		result = map[string]any{
			"protocolVersion": 1, "agentCapabilities": map[string]any{"loadSession": true},
			"agentInfo": map[string]any{"name": "acp-agent", "version": "9.8.7"}, "authMethods": []any{},
		}
		if a.script.Initialize != nil {
			result = a.script.Initialize
		}
	case "session/new":
		a.cwd, a.session = p.Cwd, "session-"+strconv.Itoa(os.Getpid())
		result = a.sessionResult()
	case "session/load", "session/resume":
		a.cwd, a.session, a.resumed = p.Cwd, p.SessionID, true
		for _, u := range a.script.Replay {
			a.update(u)
		}
		result = a.sessionResult()
	case "session/set_config_option":
		a.setOption(p.ConfigID, p.Value)
		result = map[string]any{"configOptions": a.script.Session["configOptions"]}
	}
	a.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

func (a *agent) sessionResult() map[string]any {
	result := map[string]any{"sessionId": a.session}
	for k, v := range a.script.Session {
		result[k] = v
	}
	return result
}

func (a *agent) setOption(id string, value any) {
	options, _ := a.script.Session["configOptions"].([]any)
	for _, o := range options {
		if o, ok := o.(map[string]any); ok && o["id"] == id {
			o["currentValue"] = value
		}
	}
}

// turn runs the next turn of the script.
func (a *agent) turn(m line) {
	var p struct {
		Prompt []struct {
			Text string `json:"text"`
		} `json:"prompt"`
	}
	_ = json.Unmarshal(m.Params, &p)
	a.prompt = p.Prompt[0].Text
	if _, after, ok := strings.Cut(a.prompt, "result: "); ok {
		a.result, _, _ = strings.Cut(after, "\n")
	}
	turns := a.script.Turns
	if a.resumed && a.script.Resumed != nil {
		turns = a.script.Resumed
	}
	turn := turns[min(a.turns, len(turns)-1)]
	a.turns++
	for _, s := range turn.Steps {
		a.doStep(s)
	}
	reply := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	switch {
	case turn.Error != nil:
		reply["error"] = turn.Error
	case turn.Result != nil:
		reply["result"] = turn.Result
	default:
		reply["result"] = map[string]any{"stopReason": a.stopReason()}
	}
	a.send(reply)
	for _, s := range turn.After {
		a.doStep(s)
	}
}

func (a *agent) stopReason() string {
	select {
	case <-a.cancelled:
		return "cancelled"
	default:
		return "end_turn"
	}
}

func (a *agent) doStep(s Step) {
	switch {
	case s.Message != "":
		a.update(chunk("agent_message_chunk", s.Message))
	case s.Think != "":
		a.update(chunk("agent_thought_chunk", s.Think))
	case s.Echo:
		a.update(chunk("agent_message_chunk", a.prompt))
	case s.Update != nil:
		a.update(s.Update)
	case s.Ask != nil:
		a.permission(s)
	case s.Call != "":
		a.send(map[string]any{"jsonrpc": "2.0", "id": "call-" + s.Call, "method": s.Call, "params": map[string]any{"sessionId": a.session}})
	case s.Write != "":
		must(os.WriteFile(filepath.Join(a.cwd, s.Write), []byte(s.Text), 0o644))
	case s.Result != "":
		must(os.WriteFile(a.result, []byte(s.Result), 0o644))
	case s.Line != "":
		a.write([]byte(s.Line + "\n"))
	case s.Stderr != "":
		fmt.Fprintln(os.Stderr, s.Stderr)
	case s.Spawn != "":
		a.spawn(s.Spawn)
	case s.Await:
		<-a.cancelled
	case s.Hang:
		<-time.After(time.Hour) // without cgo, a program that waits without a timer ends as deadlocked
	case s.IgnoreTerm:
		signal.Ignore(syscall.SIGTERM)
	case s.Exit != nil:
		a.exit(*s.Exit)
	}
}

// permission requests permission and waits for the answer.
func (a *agent) permission(s Step) {
	options := s.Options
	if options == nil {
		options = json.RawMessage(`[{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"yes","name":"Yes","kind":"allow_once"},` +
			`{"optionId":"no","name":"No","kind":"reject_once"},{"optionId":"never","name":"Never","kind":"reject_always"}]`)
	}
	a.mu.Lock()
	a.requests++
	id := "ask-" + strconv.Itoa(a.requests)
	answer := make(chan json.RawMessage, 1)
	a.answers[strconv.Quote(id)] = answer
	a.mu.Unlock()
	a.send(map[string]any{
		"jsonrpc": "2.0", "id": id, "method": "session/request_permission",
		"params": map[string]any{"sessionId": a.session, "toolCall": s.Ask, "options": options},
	})
	then := s.Refused
	if strings.Contains(string(<-answer), `"optionId":"yes"`) {
		then = s.Allowed
	}
	for _, s := range then {
		a.doStep(s)
	}
}

func (a *agent) deliver(m line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if to := a.answers[string(m.ID)]; to != nil {
		to <- m.Result
	}
}

// spawn starts a child that outlives the agent, as some agents start their tools: in a process session of its own.
func (a *agent) spawn(file string) {
	cmd := exec.Command("/bin/sleep", "600")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(cmd.Start())
	must(os.WriteFile(filepath.Join(a.cwd, file), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644))
}

func chunk(kind, text string) json.RawMessage {
	raw, err := json.Marshal(map[string]any{"sessionUpdate": kind, "content": map[string]any{"type": "text", "text": text}})
	must(err)
	return raw
}

func (a *agent) update(u json.RawMessage) {
	a.send(map[string]any{"jsonrpc": "2.0", "method": "session/update", "params": map[string]any{"sessionId": a.session, "update": u}})
}

func (a *agent) send(m any) {
	raw, err := json.Marshal(m)
	must(err)
	a.write(append(raw, '\n'))
}

func (a *agent) write(raw []byte) {
	a.writing.Lock()
	defer a.writing.Unlock()
	_, _ = os.Stdout.Write(raw)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
