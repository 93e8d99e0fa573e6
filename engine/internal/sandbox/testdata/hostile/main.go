//go:build linux

// Command hostile is a plugin that tries to leave its sandbox: its provider performs the action that the prompt names
// and answers with the result. The tests of the sandbox start it as any plugin is started.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

// Targets are the targets that a test prepares for the probes.
type Targets struct {
	Workspace string // may be written
	Readable  string // a directory that may be read
	Outside   string // a directory that may not be read, with the files secret, victim, moved and removed
	HomeFile  string
	HostPID   int
	HostWord  uintptr // the address of 8 bytes in the host
	TCP, TCP6 string
	UDP       string
	Unix      string // a listening socket with a path
	Abstract  string // an abstract listening socket
	Datagram  string
}

func main() {
	if len(os.Args) > 1 {
		if act, ok := children[os.Args[1]]; ok {
			act(os.Args[2:])
			return
		}
	}
	serve.Main(sdk.Plugin{Name: "hostile", Version: "1.0.0", Providers: []sdk.Provider{hostile{}}})
}

type hostile struct{}

func (hostile) Describe() sdk.Component { return sdk.Component{Name: "hostile"} }

// Execute performs the action that the first word of the prompt names, with the rest of the prompt.
func (hostile) Execute(ctx context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
	word, rest, _ := strings.Cut(req.Prompt, " ")
	act, ok := acts[word]
	if !ok {
		return sdk.ExecuteResult{}, fmt.Errorf("what is %q?", word)
	}
	out, err := act(ctx, rest)
	return sdk.ExecuteResult{Output: out}, err
}

var acts = map[string]func(ctx context.Context, rest string) (string, error){
	// probe answers with the error of each probe, "" for a success, as JSON.
	"probe": func(_ context.Context, rest string) (string, error) {
		var t Targets
		if err := json.Unmarshal([]byte(rest), &t); err != nil {
			return "", err
		}
		done := map[string]string{}
		for name, p := range probes {
			done[name] = ""
			if err := p(t); err != nil {
				done[name] = err.Error()
			}
		}
		b, err := json.Marshal(done)
		return string(b), err
	},
	// fork answers with the number of children that ran at the same time.
	"fork": func(_ context.Context, rest string) (string, error) {
		most, err := strconv.Atoi(rest)
		if err != nil {
			return "", err
		}
		var running []*exec.Cmd
		defer func() {
			for _, c := range running {
				_ = c.Process.Kill()
				_ = c.Wait()
			}
		}()
		for range most {
			c := exec.Command("/bin/sleep", "3600")
			if err := c.Start(); err != nil {
				return strconv.Itoa(len(running)), nil
			}
			running = append(running, c)
		}
		return strconv.Itoa(len(running)), nil
	},
	// hold takes a lock for as long as the plugin lives.
	"hold": func(_ context.Context, rest string) (string, error) {
		f, err := os.OpenFile(rest, os.O_CREATE|os.O_RDWR, 0o600)
		if err == nil {
			err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		}
		held = append(held, f)
		return "", err
	},
	// linger leaves a process behind that holds a lock, and answers with the number of that process.
	"linger": func(_ context.Context, rest string) (string, error) {
		c := exec.Command("/bin/sh", "-c", `setsid "$0" linger "$1" & :`, "/proc/self/exe", rest)
		c.Args[3] = self()
		c.Env = []string{"PATH=/usr/bin:/bin"} // without the run's marker
		out, err := c.StdoutPipe()
		if err != nil {
			return "", err
		}
		if err := c.Start(); err != nil {
			return "", err
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		return strings.TrimSpace(line), err
	},
	// sh runs a command line.
	"sh": func(ctx context.Context, rest string) (string, error) {
		out, err := exec.CommandContext(ctx, "/bin/sh", "-c", rest).CombinedOutput()
		if err != nil {
			return string(out), fmt.Errorf("%w: %s", err, out)
		}
		return string(out), nil
	},
	// eat and spin answer with the output or the error of a child.
	"eat":  func(_ context.Context, rest string) (string, error) { return child("eat", rest), nil },
	"spin": func(context.Context, string) (string, error) { return child("spin"), nil },
}

// held keeps the files open that the action hold has locked.
var held []*os.File

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

func child(args ...string) string {
	out, err := exec.Command(self(), args...).CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// children are the actions of this program as a child of the plugin.
var children = map[string]func(args []string){
	"linger": func(args []string) {
		var limit unix.Rlimit // its soft value marks the run's processes
		if err := unix.Getrlimit(unix.RLIMIT_LOCKS, &limit); err == nil {
			limit.Cur = limit.Max
			_ = unix.Setrlimit(unix.RLIMIT_LOCKS, &limit)
		}
		f, err := os.OpenFile(args[0], os.O_CREATE|os.O_RDWR, 0o600)
		if err == nil {
			err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		}
		if err != nil {
			panic(err)
		}
		fmt.Println(os.Getpid())
		_ = os.Stdout.Close()
		time.Sleep(time.Hour)
	},
	"eat": func(args []string) {
		n, err := strconv.Atoi(args[0])
		if err != nil {
			panic(err)
		}
		b := make([]byte, n)
		for i := 0; i < n; i += 4096 {
			b[i] = 1
		}
		fmt.Println("eaten")
	},
	"spin": func([]string) {
		for begun := time.Now(); time.Since(begun) < time.Minute; {
		}
		fmt.Println("spun")
	},
	"trace": func(args []string) {
		pid, err := strconv.Atoi(args[0])
		if err == nil {
			err = seize(pid)
		}
		if err != nil {
			fmt.Print(err)
		}
	},
}
