package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// probeTime bounds the process of a probe.
const probeTime = 10 * time.Second

// Check reports the restrictions of a process in the sandbox. An unavailable sandbox is a failure of kind
// sandbox_unavailable, except with [sandboxpolicy.Policy.BestEffort]. The first check of a mode with a network starts a
// process in such a sandbox. Only a success is remembered.
func (s *Sandbox) Check(ctx context.Context, b sandboxpolicy.Policy) (sandboxpolicy.Capabilities, error) {
	if len(s.helper) == 0 {
		return sandboxpolicy.Unavailable{}.Check(ctx, b)
	}
	wanted := proof{b.Mode, b.Network, b.Tools, b.BestEffort, b.Mode == sandboxpolicy.Strict || len(b.Write) > 0}
	o, err := s.proveTools(ctx, wanted)
	if err != nil && wanted.guarded && b.Mode == sandboxpolicy.Workspace {
		wanted.guarded = false
		o, err = s.proveTools(ctx, wanted)
	}
	var f *failure.Error
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return sandboxpolicy.Capabilities{}, context.Cause(ctx)
	case errors.As(err, &f):
		return b.Refuse(f)
	default:
		return b.Refuse(b.StartFailure(confine.StartError{Text: err.Error()}))
	}
	o.Guarded = o.Guarded || o.Landlock > 0 && len(b.Write) == 0
	o.Memory, o.Processes, o.CPUSeconds = b.Memory, b.Processes, float64(seconds(b.CPU))
	if b.Processes > 0 && !ordinary() {
		refused := failure.New(failure.SandboxUnavailable, "sandbox %s cannot limit the number of root's processes", b.Mode).
			WithHint("run as an ordinary user, or leave policy.sandbox.processes out")
		if !b.BestEffort {
			return sandboxpolicy.Capabilities{}, refused
		}
		o.Processes, o.Missing = 0, append(o.Missing, refused.Message)
	}
	return o, nil
}

// proveTools proves the network of a plugin's tools: off is a loopback interface of their own where this system has it.
func (s *Sandbox) proveTools(ctx context.Context, p proof) (sandboxpolicy.Capabilities, error) {
	if p.tools != sandboxpolicy.Off && p.tools != sandboxpolicy.Loopback {
		return s.prove(ctx, p)
	}
	wanted := p.tools
	p.tools = sandboxpolicy.Loopback
	o, err := s.prove(ctx, p)
	if err == nil {
		return o, nil
	}
	p.tools = sandboxpolicy.Off
	o, without := s.prove(ctx, p)
	switch {
	case without != nil:
		return o, without
	case wanted == sandboxpolicy.Loopback:
		return o, failure.New(failure.SandboxUnavailable, "sandbox %s has no network %s for tools here: %w", p.mode, wanted, err).
			WithHint("ask for network off, or %s", sandboxpolicy.NamespaceHint())
	}
	o.Missing = append(o.Missing, fmt.Sprintf("%s: %v", sandboxpolicy.NoLoopback, err))
	return o, nil
}

// prove starts a process in a sandbox without paths and checks that it ends normally.
func (s *Sandbox) prove(ctx context.Context, p proof) (sandboxpolicy.Capabilities, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o, ok := s.proven[p]; ok {
		return o, nil
	}
	b := sandboxpolicy.Policy{Mode: p.mode, Network: p.network, Tools: p.tools, BestEffort: p.best}
	o, err := s.expect(ctx, b)
	if err != nil {
		return sandboxpolicy.Capabilities{}, err
	}
	o.Guarded = p.guarded
	c, err := s.wrap(ctx, b, o, sandboxpolicy.Program{})
	if err != nil {
		return sandboxpolicy.Capabilities{}, err
	}
	if err := probe(ctx, b, c); err != nil {
		return sandboxpolicy.Capabilities{}, err
	}
	o.Missing = slices.Clip(o.Missing) // callers may append to it
	s.proven[p] = o
	return o, nil
}

// expect returns the abilities that this system claims to have.
func (s *Sandbox) expect(ctx context.Context, b sandboxpolicy.Policy) (sandboxpolicy.Capabilities, error) {
	o := sandboxpolicy.Capabilities{Mode: b.Mode, Network: b.Network, Tools: b.Tools, Landlock: min(s.abi(), confine.MaxABI), Seccomp: true}
	switch {
	case !confine.Supported:
		return sandboxpolicy.Capabilities{}, failure.New(failure.SandboxUnavailable, "sandbox %s is not available on %s", b.Mode, runtime.GOARCH).
			WithHint("run it on amd64 or arm64, or without policy.sandbox")
	case b.Mode == sandboxpolicy.Strict:
		version, err := s.bubblewrap(ctx)
		o.Bubblewrap = version
		if o.Landlock < confine.LeastABI {
			o.Landlock = 0 // Landlock would add nothing
		}
		return o, err
	case b.Mode != sandboxpolicy.Workspace:
		return sandboxpolicy.Capabilities{}, failure.New(failure.Internal, "sandbox %q is not known", b.Mode)
	case b.Network == sandboxpolicy.Loopback:
		return sandboxpolicy.Capabilities{}, failure.New(failure.SandboxUnavailable, "sandbox workspace has no network %s", sandboxpolicy.Loopback).
			WithHint("ask for sandbox strict, or for network off")
	case o.Landlock < confine.LeastABI && !b.BestEffort:
		return sandboxpolicy.Capabilities{}, failure.New(failure.SandboxUnavailable, "sandbox workspace needs Landlock with ABI %d, and %s", confine.LeastABI, landlockState(o.Landlock)).
			WithHint("use Linux 6.12 or newer with landlock among its security modules (lsm= at boot), or install bubblewrap and ask for sandbox strict")
	}
	o.Missing = landlockLacks(o.Landlock)
	return o, nil
}

func landlockState(abi int) string {
	if abi == 0 {
		return "this kernel has none, or it is turned off"
	}
	return fmt.Sprintf("this kernel has ABI %d", abi)
}

// landlockLacks lists the accesses that an old Landlock does not restrict.
func landlockLacks(abi int) []string {
	switch {
	case abi == 0:
		return []string{"files, signals and abstract sockets are not confined: " + landlockState(abi)}
	case abi < confine.LeastABI:
		lacks := []string{fmt.Sprintf("signals and abstract sockets are not confined: Landlock has ABI %d", abi)}
		if abi < 3 {
			lacks = append(lacks, fmt.Sprintf("files outside can be truncated: Landlock has ABI %d", abi))
		}
		return lacks
	}
	return nil
}

// probe runs the command of a probe and checks its output.
func probe(ctx context.Context, b sandboxpolicy.Policy, c *sandboxpolicy.Command) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var out, errs bytes.Buffer
	p := exec.CommandContext(ctx, c.Name)
	p.Args, p.Env, p.ExtraFiles, p.Dir, p.Stdout, p.Stderr = c.Args, c.Env, c.Files, "/", &out, &errs
	p.WaitDelay = time.Second
	if c.Attributes != nil {
		p.SysProcAttr = &syscall.SysProcAttr{}
		c.Attributes(p.SysProcAttr)
	}
	err := p.Run()
	c.Started()
	if t, found := sandboxpolicy.FindStartError(errs.String()); found && err != nil {
		return b.StartFailure(t)
	}
	if err == nil && strings.TrimSpace(out.String()) != confine.Probed {
		err = fmt.Errorf("%s did not run the probe in the sandbox", c.Name)
	}
	if err != nil {
		return failure.New(failure.SandboxUnavailable, "sandbox %s is not available: %w", b.Mode, err).WithDetail(errs.String()).
			WithHint("let the helper program call engine.Confine with its arguments after %s before it does anything else", confine.Verb)
	}
	return nil
}

// Wrap checks the policy and returns the command that confines the program. If no restriction is available, which only
// [sandboxpolicy.Policy.BestEffort] allows, the program is not confined. After the start the caller must call Started
// of the command.
func (s *Sandbox) Wrap(ctx context.Context, b sandboxpolicy.Policy, p sandboxpolicy.Program) (*sandboxpolicy.Command, error) {
	got, err := s.Check(ctx, b)
	if err != nil {
		return nil, err
	}
	if got.Mode == sandboxpolicy.None {
		return sandboxpolicy.Unconfined(p), nil
	}
	return s.wrap(ctx, b, got, p)
}

// wrap returns the command for a proven policy. A Program without Path is a probe.
func (s *Sandbox) wrap(ctx context.Context, b sandboxpolicy.Policy, got sandboxpolicy.Capabilities, p sandboxpolicy.Program) (c *sandboxpolicy.Command, err error) {
	c = &sandboxpolicy.Command{}
	b.Tools = got.Tools
	o := confine.Spec{
		Network: b.Network, Seccomp: got.Seccomp, Landlock: got.Landlock,
		Memory: b.Memory, CPU: seconds(b.CPU),
	}
	caches, variables := makeCaches(b, p)
	b.Read, b.Write = slices.Concat(b.Read, toolchains(b, p.Env)), slices.Concat(b.Write, caches)
	c.Env, o.Loader = withoutLoader(environment(b, p, variables))
	o.Exec = p.Path
	if p.File != nil {
		o.Exec = pass(c, p.File)
	}
	if o.Processes = got.Processes; o.Processes > 0 && b.Mode == sandboxpolicy.Strict {
		o.Processes++ // bubblewrap has a process of its own inside
	}
	o.Added = o.Processes > 0 && b.Mode == sandboxpolicy.Workspace
	g := grant(b, p)
	if b.Mode == sandboxpolicy.Strict {
		if err := s.wrapBwrap(ctx, b, g, c); err != nil {
			c.Started()
			return nil, err
		}
	} else {
		o.Files = o.Landlock > 0
		if o.Files {
			o.Read, o.Write, o.Devices = g.read, g.write, existing(devices...)
		}
		if got.Guarded {
			if o.Mounts, err = fixedMounts(ctx, g, p); err != nil {
				return nil, err
			}
		}
		c.Name, c.Args = s.helper[0], slices.Clone(s.helper)
	}
	ownNamespaces(b, &o, c)
	c.Args = append(c.Args, o.String())
	if p.Path != "" {
		c.Args = append(append(c.Args, p.Path), p.Args...)
	}
	return c, nil
}

func seconds(d time.Duration) int64 {
	return int64((d + time.Second - 1) / time.Second)
}

// ordinary reports whether this process has no privilege over the whole system: its user is an ordinary user, or the
// root of a user namespace. The kernel exempts other processes from RLIMIT_NPROC.
func ordinary() bool {
	if syscall.Geteuid() != 0 {
		return true
	}
	b, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && strings.Join(strings.Fields(string(b)), " ") != "0 0 4294967295"
}
