package cliagent

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const (
	// chunkBytes is the size of a read, and so of the chunks on the exchange.
	chunkBytes = 32 << 10
	// drainDelay is how long a stream may stay silent once no process of ours is left to write it.
	drainDelay = 2 * time.Second
	// drainBytes bounds what is still read then; no pipe holds more.
	drainBytes = 1 << 20
)

// process is a started command with its pipes. Its goroutines are owned by Run, which waits for them.
type process struct {
	cmd    *exec.Cmd
	family *family
	stderr *tail

	stdin  *os.File
	reads  [2]*os.File // our ends of stdout and stderr
	owned  sync.WaitGroup
	ended  atomic.Bool   // every process has ended: the pipes hold all there will ever be
	active chan struct{} // a byte came; holds one
	final  chan struct{} // closed at the agent's last word
	told   sync.Once     // closes final
	over   chan struct{} // closed when stdout was read to its end
	halt   chan struct{} // closed when the agent is to end
	talked chan struct{} // closed when nothing more is written to stdin

	exited  chan struct{} // closed when the process has ended
	waitErr error         // valid after exited
}

// start brings the command to life and its pipes to work.
func start(c Command) (*process, error) {
	call := newCall()
	p := &process{
		family: &family{mark: CallVariable + "=" + call},
		stderr: &tail{max: StderrBytes},
		active: make(chan struct{}, 1),
		final:  make(chan struct{}),
		over:   make(chan struct{}),
		halt:   make(chan struct{}),
		talked: make(chan struct{}),
		exited: make(chan struct{}),
	}
	theirs, err := p.pipes()
	if err == nil {
		err = p.spawn(c, theirs)
	}
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		p.closePipes()
		p.owned.Wait()
		return nil, startFailure(c, err)
	}
	p.owned.Go(func() { p.feed(c) })
	p.owned.Go(func() { p.readLines(c) })
	p.owned.Go(func() { p.readStderr(c) })
	return p, nil
}

// pipes makes the three pipes and returns the child's ends, in the order stdin, stdout, stderr.
func (p *process) pipes() ([]*os.File, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.stdin = inW
	theirs := []*os.File{inR}
	for i := range p.reads {
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		p.reads[i] = r
		theirs = append(theirs, w)
	}
	return theirs, nil
}

func (p *process) closePipes() {
	for _, f := range []*os.File{p.stdin, p.reads[0], p.reads[1]} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// spawn starts the process and waits for its end on one thread that is kept for it: the parent-death
// signal is sent when the thread that forked ends, not when the process does.
func (p *process) spawn(c Command, files []*os.File) error {
	started := make(chan error, 1)
	p.owned.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cmd, err := startCommand(c, p.family.mark, files)
		p.cmd = cmd
		started <- err
		if err != nil {
			return
		}
		p.waitErr = cmd.Wait()
		close(p.exited)
	})
	if err := <-started; err != nil {
		return err
	}
	p.family.begin(p.cmd.Process.Pid)
	p.family.putSeal()
	return nil
}

// startCommand starts the executable, again where it was being written at that moment (an update of
// the CLI; golang/go#22315).
func startCommand(c Command, mark string, files []*os.File) (*exec.Cmd, error) {
	const tries = 4
	for try := 1; ; try++ {
		cmd := exec.Command(c.Path, c.Args...)
		cmd.Dir = c.Dir
		cmd.Env = slices.Concat(c.Env, []string{mark})
		cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[1], files[2]
		cmd.SysProcAttr = ownGroup()
		err := cmd.Start()
		if err == nil || try == tries || !errors.Is(err, syscall.ETXTBSY) {
			return cmd, err
		}
		<-time.After(time.Duration(try) * 20 * time.Millisecond)
	}
}

func startFailure(c Command, err error) *failure.Error {
	kind, hint := failure.ProviderCrashed, "check that "+c.Path+" runs when you start it by hand"
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		kind = failure.ProviderMissing
	case errors.Is(err, syscall.E2BIG), errors.Is(err, syscall.EINVAL):
		kind, hint = failure.ConfigInvalid, "an argument or an environment variable is too long or holds a zero byte: check the model and the configuration of "+c.Name
	}
	return failure.New(kind, "start %s in %s: %w", c.Name, c.Dir, err).WithHint("%s", hint)
}

// feed writes the prompt, or has the agent talked with, and closes stdin. An agent that ends without
// reading is no error here.
func (p *process) feed(c Command) {
	defer close(p.talked)
	defer func() { _ = p.stdin.Close() }()
	if c.Talk == nil {
		_, _ = p.stdin.WriteString(c.Stdin)
		return
	}
	c.Talk(Talk{Stdin: p.stdin, Stop: p.halt, Over: p.over})
	p.markFinal()
}

func (p *process) readLines(c Command) {
	defer close(p.over)
	s := &splitter{emit: func(line []byte) {
		if c.Line != nil && c.Line(line) {
			p.markFinal()
		}
	}}
	p.read(p.reads[0], func(b []byte) {
		report(c.Exchange, sdk.StreamRaw, b)
		s.write(b)
	})
	s.flush()
}

func (p *process) readStderr(c Command) {
	s := &splitter{emit: func(line []byte) {
		if c.StderrLine != nil {
			c.StderrLine(line)
		}
	}}
	p.read(p.reads[1], func(b []byte) {
		report(c.Exchange, sdk.StreamStderr, b)
		p.stderr.write(b)
		s.write(b)
	})
	s.flush()
}

func report(x sdk.Exchange, s sdk.Stream, b []byte) {
	if x != nil {
		x.Output(sdk.OutputChunk{Stream: s, Text: string(b)})
	}
}

// read hands on what comes until the stream ends. Once all processes have ended it reads only what
// can still be in the pipe: a process that escaped, where the system lets it, must not hold us.
func (p *process) read(f *os.File, use func([]byte)) {
	defer func() { _ = f.Close() }()
	buf := make([]byte, chunkBytes)
	for late := 0; late < drainBytes; {
		ended := p.ended.Load()
		if ended {
			_ = f.SetReadDeadline(time.Now().Add(drainDelay))
		}
		n, err := f.Read(buf)
		if n > 0 {
			p.touch()
			use(buf[:n])
			p.touch()
		}
		if ended {
			late += n
		}
		if err != nil && (ended || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return
		}
	}
}

// drain tells the readers and the writer that no process is left, which ends those that still wait.
func (p *process) drain() {
	p.ended.Store(true)
	_ = p.stdin.Close()
	for _, f := range p.reads {
		_ = f.SetReadDeadline(time.Now().Add(drainDelay))
	}
}

func (p *process) touch() {
	select {
	case p.active <- struct{}{}:
	default:
	}
}

// markFinal notes that the agent has said its last word.
func (p *process) markFinal() { p.told.Do(func() { close(p.final) }) }

func (p *process) isFinal() bool {
	select {
	case <-p.final:
		return true
	default:
		return false
	}
}
