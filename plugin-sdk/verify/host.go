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
)

// hostPrefix begins the one line that a host prints; a test's binary may print others.
const hostPrefix = "agent-pipelines-verify-host "

// hosted is that line: what the host started.
type hosted struct {
	PID   int    `json:"pid"`
	Line  string `json:"line"`
	Fault string `json:"fault,omitempty"`
}

// ServeHost makes the calling process a host that can be killed: it starts the plugin that in names, tells
// about it on out, and waits for the end of in. [Run] starts it by [Options.Host], with both as standard
// streams. A program calls it before it does anything else.
func ServeHost(ctx context.Context, in io.Reader, out io.Writer) error {
	runtime.LockOSThread() // the signal at the parent's death is bound to the thread that forks
	defer runtime.UnlockOSThread()
	var s spec
	lines := bufio.NewReader(in)
	text, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read what to start: %w", err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("read what to start: %w", err)
	}
	p, err := start(s)
	if err != nil {
		return tellHosted(out, hosted{Fault: err.Error()})
	}
	defer p.clean()
	h := hosted{PID: p.pid()}
	if h.Line, err = p.greet(ctx); err != nil {
		h.Fault = err.Error()
	}
	if err := tellHosted(out, h); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, lines)
	return err
}

func tellHosted(out io.Writer, h hosted) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\n%s%s\n", hostPrefix, text)
	return err
}

// host is a process of ours that started the plugin and is to be killed.
type host struct {
	busy
	cmd   *exec.Cmd
	stdin io.Closer
	ended sync.Once
}

// startHost starts one, connects to its plugin, and puts that to work. The caller closes it.
func (t *trial) startHost(ctx context.Context) (*host, error) {
	dir, err := socketDir()
	if err != nil {
		return nil, err
	}
	s := t.spec().handshaking(dir)
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
	h.session = &session{process: foreign(s, 0), dir: dir}
	err = h.adopt(ctx, in, out)
	if err == nil {
		err = t.settle(ctx, h)
	}
	if err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// adopt tells the host what to start, and connects to that.
func (h *host) adopt(ctx context.Context, in io.Writer, out io.Reader) error {
	if err := json.NewEncoder(in).Encode(h.spec); err != nil {
		return fmt.Errorf("tell the host what to start: %w", err)
	}
	unwatch := context.AfterFunc(ctx, h.kill)
	defer unwatch()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), hostPrefix)
		if !ok {
			continue
		}
		var told hosted
		if err := json.Unmarshal([]byte(text), &told); err != nil {
			return fmt.Errorf("the host says %q: %w", text, err)
		}
		if told.Fault != "" {
			return errors.New(told.Fault)
		}
		h.number = told.PID
		return h.connect(told.Line)
	}
	return errors.New("the host ended without a word")
}

// settle does for a host's plugin what fresh and occupy do for one of ours.
func (t *trial) settle(ctx context.Context, h *host) error {
	for _, c := range t.description.Components {
		_ = h.prepare(ctx, c, t.dir) // the row init looks at it
	}
	return t.occupy(ctx, &h.busy)
}

// kill ends the host as nothing else does: without a chance to clean up.
func (h *host) kill() {
	h.ended.Do(func() {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait() // it was killed
	})
}

func (h *host) close() {
	h.kill()
	_ = h.stdin.Close()
	h.busy.close()
}
