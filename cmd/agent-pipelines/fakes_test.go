package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The fakes are this test program under the names of the agent CLIs, and of bd, the queue of beads. An agent plays the
// role in its prompt's line "role: X", or else the role of its own name. The n-th call of a role gets its n-th reply in
// replies.json; the last reply repeats. A role without replies succeeds. fakeDir/calls records the calls.
const (
	fakeStage = "FAKE_STAGE" // the variable that names the project directory of the fakes
	fakeDir   = ".fake"
)

// reply lists the actions of an agent for one call.
type reply struct {
	Result   json.RawMessage // written to the path on the prompt's line "result: "; a JSON string is written unquoted
	Status   json.RawMessage // written to the path on the line "status: "
	Progress string          // appended to the file on the line "progress: "
	Takes    bool            // removes the first bead from the queue
	Pid      string          // file that gets the agent's process id
	Errors   string          // on stderr
	Stdout   string          `json:"says"` // on stdout
	Waits    string          // file to wait for, at most for patience
	Exit     int
}

// fakes maps the names of the fakes to their implementations.
var fakes = map[string]func(stage, name string, args []string) (exit int, err error){
	"claude": playAgent, "codex": playAgent, "bd": playBeads, terminalProgram: runAtTerminal,
}

// linkSelf links this program in dir under each of the names.
func linkSelf(dir string, names ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		target := filepath.Join(dir, name)
		if os.Link(self, target) == nil {
			continue
		}
		program, err := os.ReadFile(self) // a link to another file system fails
		if err != nil {
			return err
		}
		if err := os.WriteFile(target, program, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// runFake runs a fake if this process was started as a fake; was reports whether it was.
func runFake() (exit int, was bool) {
	name := filepath.Base(os.Args[0])
	play, was := fakes[name]
	if !was {
		return 0, false
	}
	exit, err := play(os.Getenv(fakeStage), name, os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "fake for %s: %v\n", name, err)
		return 99, true
	}
	return exit, true
}

func playAgent(stage, name string, args []string) (int, error) {
	if slices.Contains(args, "--version") {
		fmt.Println(name, "1.2.3")
		return 0, nil
	}
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 0, err
	}
	role := name
	if named := field(string(prompt), "role"); named != "" {
		role = named
	}
	call, err := record(stage, role, name, args, string(prompt))
	if err != nil {
		return 0, err
	}
	r, err := replyTo(stage, role, call)
	if err != nil {
		return 0, err
	}
	return r.play(stage, string(prompt))
}

// record saves a call and returns its number, from 1.
func record(stage, role, name string, args []string, prompt string) (int, error) {
	dir := filepath.Join(stage, fakeDir, "calls")
	for call := 1; ; call++ {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("%s-%d", role, call)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return 0, err
		}
		_, err = fmt.Fprintf(f, "%s\n%s\n%s", strings.Join(append([]string{name}, args...), " "), strings.Join(ours(os.Environ()), " "), prompt)
		return call, errors.Join(err, f.Close())
	}
}

// ours lists the variables that the engine sets for agents.
func ours(environment []string) []string {
	names := regexp.MustCompile(`^(CLAUDE_PIPELINE_\w+|MAX_ITERATIONS|MIN_ITERATIONS|CONSENSUS|CODEX_STATUS_FILE)=`)
	kept := slices.DeleteFunc(environment, func(v string) bool { return !names.MatchString(v) })
	slices.Sort(kept)
	return kept
}

// field returns the text after "name: " in a line of the prompt.
func field(prompt, name string) string {
	m := regexp.MustCompile(`(?m)^` + name + `: (\S+)$`).FindStringSubmatch(prompt)
	if m == nil {
		return ""
	}
	return m[1]
}

func replyTo(stage, role string, call int) (reply, error) {
	all := map[string][]reply{}
	text, err := os.ReadFile(filepath.Join(stage, "replies.json"))
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !os.IsNotExist(err) {
		return reply{}, fmt.Errorf("replies.json: %w", err)
	}
	if len(all[role]) == 0 {
		result := fmt.Sprintf(`{"summary": "%s, call %d"}`, role, call)
		return reply{Stdout: fmt.Sprintf("%s spoke (call %d)\n", role, call), Result: json.RawMessage(result)}, nil
	}
	return all[role][min(call, len(all[role]))-1], nil
}

func (r reply) play(stage, prompt string) (int, error) {
	if path := field(prompt, "progress"); path != "" && r.Progress != "" {
		if err := appendTo(path, r.Progress); err != nil {
			return 0, err
		}
	}
	for name, content := range map[string][]byte{"result": plain(r.Result), "status": plain(r.Status)} {
		if path := field(prompt, name); path != "" && len(content) > 0 {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				return 0, err
			}
		}
	}
	if r.Takes {
		if err := claimBead(stage); err != nil {
			return 0, err
		}
	}
	if r.Pid != "" {
		if err := os.WriteFile(filepath.Join(stage, r.Pid), []byte(fmt.Sprintln(os.Getpid())), 0o600); err != nil {
			return 0, err
		}
	}
	fmt.Fprint(os.Stderr, r.Errors)
	fmt.Print(r.Stdout)
	if r.Waits != "" {
		awaitFile(filepath.Join(stage, r.Waits))
	}
	return r.Exit, nil
}

func awaitFile(path string) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
}

// plain returns the text of a JSON string, and any other value unchanged.
func plain(value json.RawMessage) []byte {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return []byte(text)
	}
	return value
}

// playBeads prints the file beads for "ready" and the file orphans.json for "list", and records its calls.
func playBeads(stage, _ string, args []string) (int, error) {
	log := filepath.Join(stage, fakeDir, "calls", "bd")
	if err := appendTo(log, fmt.Sprintln("bd", strings.Join(args, " "))); err != nil || len(args) == 0 {
		return 1, err
	}
	switch args[0] {
	case "ready":
		ready, _ := os.ReadFile(filepath.Join(stage, "beads")) // without the file, no bead is ready
		fmt.Print(string(ready))
	case "list":
		orphans, _ := os.ReadFile(filepath.Join(stage, "orphans.json"))
		fmt.Print(string(orphans))
	}
	return 0, nil
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func claimBead(stage string) error {
	path := filepath.Join(stage, "beads")
	ready, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(ready), "\n")
	return os.WriteFile(path, []byte(rest), 0o600)
}
