package cliagent

import (
	"crypto/rand"
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
	// chunkBytes is the maximum size of a read, and so of a chunk on the exchange.
	chunkBytes = 32 << 10
	// drainDelay is the maximum wait for more data of a stream after all processes have ended.
	drainDelay = 2 * time.Second
	// drainBytes limits the bytes read after all processes have ended; no pipe holds more.
	drainBytes = 1 << 20
)

// process is a started command with its pipes. Run owns its goroutines and waits for them.
type process struct {
	cmd    *exec.Cmd
	family *family
	stderr *tail

	stdin       *os.File
	outputs     [2]*os.File // the read ends of stdout and stderr
	goroutines  sync.WaitGroup
	allEnded    atomic.Bool   // every process has ended, so that the pipes get no more data
	active      chan struct{} // signals a received byte; holds one signal
	final       chan struct{} // closed at the agent's final message
	finalOnce   sync.Once     // closes final
	stdoutEnded chan struct{} // closed at the end of stdout
	stopping    chan struct{} // closed when the agent is to end
	stdinClosed chan struct{} // closed after the last write to stdin

	exited chan struct{} // closed when the process has ended
}

// start starts the command and the goroutines of its pipes.
func start(c Command) (*process, error) {
	p := &process{
		family:      &family{mark: CallVariable + "=" + rand.Text()},
		stderr:      &tail{max: StderrBytes},
		active:      make(chan struct{}, 1),
		final:       make(chan struct{}),
		stdoutEnded: make(chan struct{}),
		stopping:    make(chan struct{}),
		stdinClosed: make(chan struct{}),
		exited:      make(chan struct{}),
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
		p.goroutines.Wait()
		return nil, startFailure(c, err)
	}
	p.goroutines.Go(func() { p.feed(c) })
	p.goroutines.Go(func() { p.readLines(c) })
	p.goroutines.Go(func() { p.readStderr(c) })
	return p, nil
}

// pipes creates the three pipes and returns the child's ends: stdin, stdout, stderr.
func (p *process) pipes() ([]*os.File, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.stdin = inW
	theirs := []*os.File{inR}
	for i := range p.outputs {
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		p.outputs[i] = r
		theirs = append(theirs, w)
	}
	return theirs, nil
}

func (p *process) closePipes() {
	for _, f := range []*os.File{p.stdin, p.outputs[0], p.outputs[1]} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// spawn starts the process in a goroutine that waits for its end. The goroutine keeps its thread, because
// the system sends the parent-death signal when the forking thread ends.
func (p *process) spawn(c Command, files []*os.File) error {
	started := make(chan error, 1)
	p.goroutines.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cmd, err := startCommand(c, p.family.mark, files)
		p.cmd = cmd
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // ProcessState has the result
		close(p.exited)
	})
	if err := <-started; err != nil {
		return err
	}
	p.family.begin(p.cmd.Process.Pid)
	p.family.setTag()
	return nil
}

// startCommand starts the executable. It retries up to three times while the file is being written, as by
// an update of the CLI (golang/go#22315).
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

// feed writes the prompt or runs the conversation, and closes stdin. It ignores the error of an
// agent that ends without reading stdin.
func (p *process) feed(c Command) {
	defer close(p.stdinClosed)
	defer func() { _ = p.stdin.Close() }()
	if c.Talk == nil {
		_, _ = p.stdin.WriteString(c.Stdin)
		return
	}
	c.Talk(Talk{Stdin: p.stdin, Stop: p.stopping, StdoutEnded: p.stdoutEnded})
	p.markFinal()
}

func (p *process) readLines(c Command) {
	defer close(p.stdoutEnded)
	s := &splitter{emit: func(line []byte) {
		if c.Line != nil && c.Line(line) {
			p.markFinal()
		}
	}}
	p.read(p.outputs[0], func(b []byte) {
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
	p.read(p.outputs[1], func(b []byte) {
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

// read passes the stream's data to use until the stream ends. After all processes have ended, it
// reads only the data left in the pipe, because an escaped process may keep the pipe open.
func (p *process) read(f *os.File, use func([]byte)) {
	defer func() { _ = f.Close() }()
	buf := make([]byte, chunkBytes)
	for late := 0; late < drainBytes; {
		ended := p.allEnded.Load()
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

// drain ends the waits of the readers and the writer, because all processes have ended.
func (p *process) drain() {
	p.allEnded.Store(true)
	_ = p.stdin.Close()
	for _, f := range p.outputs {
		_ = f.SetReadDeadline(time.Now().Add(drainDelay))
	}
}

func (p *process) touch() {
	select {
	case p.active <- struct{}{}:
	default:
	}
}

// markFinal records the agent's final message.
func (p *process) markFinal() { p.finalOnce.Do(func() { close(p.final) }) }

func (p *process) isFinal() bool {
	select {
	case <-p.final:
		return true
	default:
		return false
	}
}

// family is the set of processes that descend from one started process. It belongs to one Run and
// is not safe for concurrent use. Its methods begin, setTag, note and signal depend on the operating system.
type family struct {
	// root is the process ID of the first process and the ID of its group.
	root int
	// mark is the environment entry that every member inherits.
	mark string
	// tag is a resource limit that marks members with a cleared environment, 0 if there is none.
	tag uint64
	// known maps the process IDs of members seen so far to their start times. A later process with
	// the same ID has another start time.
	known map[int]uint64
}
