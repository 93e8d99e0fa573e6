package sandbox

import (
	"context"
	"sync"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Verb is the first argument that leads a program to [Main].
const Verb = "__sandbox"

// probed is what a probe prints, exitTrouble how a process ends that could not do as it was told.
const (
	probed      = "agent-pipelines sandbox: probed"
	exitTrouble = 126
)

// systemDirs are where bubblewrap is looked for. A project cannot put one there.
var systemDirs = []string{"/usr/bin", "/bin", "/usr/local/bin", "/run/wrappers/bin", "/run/current-system/sw/bin"}

// Sandbox finds out what this system can do, once, and wraps programs. It is safe for concurrent use.
type Sandbox struct {
	helper     []string
	systemDirs []string
	abi        func() int // of this kernel's Landlock

	mu     sync.Mutex
	proven map[proof]Obtained
	fenced bool // a cgroup that counts tasks can be made
}

// proof is what of a [Box] decides whether the system can do it.
type proof struct {
	mode    Mode
	network Network
	best    bool
}

// New makes a Sandbox. The helper is the command line of a program that passes the arguments after it to
// [Main], this program and [Verb] as a rule; without one nothing can be confined.
func New(helper []string) *Sandbox {
	return &Sandbox{helper: helper, systemDirs: systemDirs, abi: landlockABI, proven: map[proof]Obtained{}}
}

// Check reports what holds for a process in the box. What cannot be done is a failure of kind
// sandbox_unavailable, except with [Box.Best]. The first check of a kind of box starts a process in one;
// its result is kept.
func (s *Sandbox) Check(ctx context.Context, b Box) (Obtained, error) {
	if len(s.helper) == 0 {
		return s.refuse(b, failure.New(failure.SandboxUnavailable, "sandbox %s: this program has not said how a process of its own becomes a confined one", b.Mode).
			WithHint("let the program pass the arguments after %s to the kernel before it does anything else, and say so in its configuration", Verb))
	}
	return s.check(ctx, b)
}

// refuse is what becomes of a box that cannot be had.
func (s *Sandbox) refuse(b Box, why *failure.Error) (Obtained, error) {
	if !b.Best {
		return Obtained{}, why
	}
	return Obtained{Mode: None, Network: On, Lacks: []string{why.Message}}, nil
}

// Wrap checks the box and puts it around the program. A box of which nothing can be had, which only
// [Box.Best] allows, leaves the program as it is. After the start the caller calls Started, and End when the
// process is gone.
func (s *Sandbox) Wrap(ctx context.Context, b Box, p Program) (*Command, error) {
	got, err := s.Check(ctx, b)
	if err != nil {
		return nil, err
	}
	if got.Mode == None {
		return Bare(p), nil
	}
	return s.wrap(b, got, p)
}
