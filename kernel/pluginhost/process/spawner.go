package process

import (
	"errors"
	"os"
	"runtime"
	"sync"
)

// ErrSpawnerClosed is the error of starts after [Spawner.Close].
var ErrSpawnerClosed = errors.New("the plugin host is closed")

// Spawner starts processes from one operating system thread, which lives as long as the Spawner. Linux sends
// the parent-death signal when the forking thread ends, so a child forked from another goroutine could be
// killed while the host lives. It is safe for concurrent use.
type Spawner struct {
	requests chan spawnRequest
	quit     chan struct{}
	close    sync.Once
	wait     sync.WaitGroup
}

type spawnRequest struct {
	name  string
	argv  []string
	attr  *os.ProcAttr
	reply chan<- spawnReply
}

type spawnReply struct {
	process *os.Process
	err     error
}

// NewSpawner starts the thread. The caller closes the Spawner after the last child has ended.
func NewSpawner() *Spawner {
	s := &Spawner{requests: make(chan spawnRequest), quit: make(chan struct{})}
	s.wait.Go(s.serve)
	return s
}

// Close ends the thread and waits for it. On Linux this signals running children to end.
func (s *Spawner) Close() {
	s.close.Do(func() { close(s.quit) })
	s.wait.Wait()
}

// serve never unlocks its thread. When serve returns, the runtime ends the thread, and children that are still running
// get the signal of their parent's death.
func (s *Spawner) serve() {
	runtime.LockOSThread()
	for {
		select {
		case r := <-s.requests:
			p, err := os.StartProcess(r.name, r.argv, r.attr)
			r.reply <- spawnReply{p, err}
		case <-s.quit:
			return
		}
	}
}

func (s *Spawner) start(name string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	reply := make(chan spawnReply, 1)
	select {
	case s.requests <- spawnRequest{name, argv, attr, reply}:
	case <-s.quit:
		return nil, ErrSpawnerClosed
	}
	r := <-reply
	return r.process, r.err
}
