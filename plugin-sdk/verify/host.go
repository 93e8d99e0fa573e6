package verify

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"
)

// hostPrefix begins the line that a host prints; a test's binary may print other lines.
const hostPrefix = "plugin-verify-host "

// hostReport is the JSON object in the line of a host: the result of the start.
type hostReport struct {
	PID   int    `json:"pid"`
	Line  string `json:"line"`
	Fault string `json:"fault,omitempty"`
}

// ServeHost makes the calling process a host, which acts as the kernel and can be killed. It reads a
// plugin's specification from in, starts the plugin, reports it on out, and waits for the end of in.
//
// [Run] starts the host by [Options.Host], with in and out as its standard streams. The host's
// program calls ServeHost before anything else.
func ServeHost(ctx context.Context, in io.Reader, out io.Writer) error {
	runtime.LockOSThread() // the parent-death signal belongs to the forking thread
	defer runtime.UnlockOSThread()
	var s subprocess.Spec
	lines := bufio.NewReader(in)
	text, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the specification: %w", err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("read the specification: %w", err)
	}
	p, err := subprocess.Start(s)
	if err != nil {
		return writeReport(out, hostReport{Fault: err.Error()})
	}
	defer p.KillAll()
	h := hostReport{PID: p.Pid()}
	if h.Line, err = p.ReadHandshake(ctx); err != nil {
		h.Fault = err.Error()
	}
	if err := writeReport(out, h); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, lines)
	return err
}

func writeReport(out io.Writer, h hostReport) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\n%s%s\n", hostPrefix, text)
	return err
}

// host is a process that runs [ServeHost], has started the plugin, and is to be killed.
type host struct {
	busy
	cmd   *exec.Cmd
	stdin io.Closer
	ended sync.Once
}

// startHost starts a host, connects to its plugin, and starts slow work on it. The caller closes the host.
func (t *trial) startHost(ctx context.Context) (*host, error) {
	dir, err := subprocess.SocketDir()
	if err != nil {
		return nil, err
	}
	s := t.spec().WithHandshake(dir)
	s.Bound = true
	h := &host{cmd: t.opts.Host()}
	in, err := h.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.stdin = in
	if err := h.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a host: %w", err)
	}
	h.Session = &subprocess.Session{Process: subprocess.Foreign(s, 0), Dir: dir}
	err = h.adopt(ctx, in, out)
	if err == nil {
		err = t.prepareHost(ctx, h)
	}
	if err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// adopt sends the specification to the host and connects to its plugin.
func (h *host) adopt(ctx context.Context, in io.Writer, out io.Reader) error {
	if err := json.NewEncoder(in).Encode(h.Spec); err != nil {
		return fmt.Errorf("send the specification to the host: %w", err)
	}
	unwatch := context.AfterFunc(ctx, h.kill)
	defer unwatch()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), hostPrefix)
		if !ok {
			continue
		}
		var report hostReport
		if err := json.Unmarshal([]byte(text), &report); err != nil {
			return fmt.Errorf("parse the host's report %q: %w", text, err)
		}
		if report.Fault != "" {
			return errors.New(report.Fault)
		}
		h.Number = report.PID
		return h.Connect(report.Line)
	}
	return errors.New("the host ended without a report")
}

// prepareHost initializes the plugin of a host and starts slow work on it.
func (t *trial) prepareHost(ctx context.Context, h *host) error {
	h.Init(ctx, t.description.Components, t.dir)
	return t.startSlowWork(ctx, &h.busy)
}

// kill ends the host with SIGKILL, so that the host cannot clean up.
func (h *host) kill() {
	h.ended.Do(func() {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait() // the error is the signal
	})
}

func (h *host) close() {
	h.kill()
	_ = h.stdin.Close()
	h.busy.close()
}

// checkParentDeath kills a host and checks that none of the plugin's processes remains.
func checkParentDeath(ctx context.Context, t *trial, _ *subprocess.Session, _ sdk.Component) finding {
	const do = "watch stdin for the host's death, then kill the plugin's process group"
	if t.opts.Host == nil {
		return skip("a command that calls verify.ServeHost", "there is no host that can be killed")
	}
	h, err := t.startHost(ctx)
	if err != nil {
		return noProcess(err)
	}
	defer h.close()
	children := len(h.children())
	begun := time.Now()
	h.kill()
	if left := h.AwaitGone(ctx, subprocess.Grace+subprocess.Slack); len(left) > 0 {
		return fail(do, "%s after its host was killed (%s) these processes remain: %s", subprocess.Grace+subprocess.Slack, h.workload(children), strings.Join(left, ", "))
	}
	return pass("%s, gone after %d ms", h.workload(children), time.Since(begun).Milliseconds())
}
