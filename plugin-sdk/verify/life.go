package verify

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// busy is a plugin process with slow work on every provider and hook action, as far as the author's cases allow.
type busy struct {
	*subprocess.Session
	attempts []*running
}

// busyProcess starts a busy process. The caller closes it.
func (t *trial) busyProcess(ctx context.Context) (*busy, error) {
	s, err := t.newSession(ctx)
	if err != nil {
		return nil, err
	}
	b := &busy{Session: s}
	if err := t.startSlowWork(ctx, b); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// startSlowWork starts slow work on every provider and hook action of the process.
func (t *trial) startSlowWork(ctx context.Context, b *busy) error {
	for _, c := range t.description.Components {
		if slow := t.opts.Cases.HookActions[c.Name].Slow; c.Kind == sdk.KindHookAction && len(slow) > 0 {
			b.attempts = append(b.attempts, launch(ctx, b.Session, func(ctx context.Context, r *running) {
				_, r.err = b.Client.HookAction(c).Run(ctx, t.slowRun(slow, workLimit))
			}))
			continue
		}
		cases := t.opts.Cases.Providers[c.Name]
		a := cmp.Or(cases.Busy, cases.Slow)
		if c.Kind != sdk.KindProvider || a == nil {
			continue
		}
		r, err := t.begin(ctx, b.Session, c, *a, 0)
		if err != nil {
			return err
		}
		b.attempts = append(b.attempts, r)
	}
	return nil
}

// close ends the process first, because a stubborn attempt ends only with the process.
func (b *busy) close() {
	b.Close()
	for _, r := range b.attempts {
		r.stop()
	}
}

// children returns the processes that the plugin started.
func (b *busy) children() []int {
	var found []int
	for _, pid := range subprocess.MarkedPIDs(subprocess.MarkerVariable + "=" + b.Spec.Marker) {
		if pid != b.Pid() {
			found = append(found, pid)
		}
	}
	return found
}

// workload describes the work of the process.
func (b *busy) workload(children int) string {
	switch {
	case len(b.attempts) == 0:
		return "idle"
	case !subprocess.SeesProcesses:
		return fmt.Sprintf("at work on %d calls", len(b.attempts))
	default:
		return fmt.Sprintf("at work on %d calls with %d processes", len(b.attempts), children)
	}
}

// checkEnvironment checks the environments of the plugin's children.
func checkEnvironment(ctx context.Context, t *trial, _ *subprocess.Session, _ sdk.Component) finding {
	if !subprocess.SeesProcesses {
		return skip("a run on Linux", "this system does not show the environment of processes")
	}
	b, err := t.busyProcess(ctx)
	if err != nil {
		return noProcess(err)
	}
	defer b.close()
	children := b.children()
	if len(children) == 0 {
		return skip("a case busy, or slow of a hook action, with processes of its own", "%s, it has no children", b.workload(0))
	}
	for _, pid := range children {
		for _, entry := range subprocess.ReadEnviron(pid) {
			if name, _, _ := strings.Cut(entry, "="); subprocess.HandshakeVariable(name) {
				return fail("remove the cookie and every PLUGIN_ variable from the environment after the handshake",
					"process %d has %s", pid, name)
			}
		}
	}
	return pass("%d children", len(children))
}

// ends calls do, which must end a busy process, and checks that none of its processes remains.
func (t *trial) ends(ctx context.Context, cause string, do func(b *busy) error) finding {
	const advice = "end within 2 s, then kill the plugin's process group; start no process outside it"
	b, err := t.busyProcess(ctx)
	if err != nil {
		return noProcess(err)
	}
	defer b.close()
	children := len(b.children())
	begun := time.Now()
	if err := do(b); err != nil {
		return noProcess(err)
	}
	if left := b.AwaitGone(ctx, subprocess.Grace+subprocess.Slack); len(left) > 0 {
		return fail(advice, "%s after %s (%s) these processes remain: %s", subprocess.Grace+subprocess.Slack, cause, b.workload(children), strings.Join(left, ", "))
	}
	return pass("%s, gone after %d ms", b.workload(children), time.Since(begun).Milliseconds())
}

func checkSigterm(ctx context.Context, t *trial, _ *subprocess.Session, _ sdk.Component) finding {
	return t.ends(ctx, "SIGTERM", func(b *busy) error { return syscall.Kill(b.Pid(), syscall.SIGTERM) })
}

func checkStdinEOF(ctx context.Context, t *trial, _ *subprocess.Session, _ sdk.Component) finding {
	return t.ends(ctx, "the end of stdin", func(b *busy) error { return b.Stdin.Close() })
}

// checkShutdown calls Shutdown, as the kernel does.
func checkShutdown(ctx context.Context, _ *trial, s *subprocess.Session, _ sdk.Component) finding {
	begun := time.Now()
	polite, cancel := subprocess.WithTimeout(ctx, subprocess.Grace+subprocess.Slack)
	defer cancel()
	if err := s.Client.Shutdown(polite); err != nil {
		return fail("answer Shutdown within 2 s", "Shutdown: %s", subprocess.Shorten(err.Error()))
	}
	answered := time.Since(begun)
	shutDownController(ctx, s)
	if left := s.AwaitGone(ctx, subprocess.Grace+subprocess.Slack); len(left) > 0 {
		return fail("end the process after Shutdown: at the latest when stdin ends", "%s after Shutdown these processes remain: %s", subprocess.Grace+subprocess.Slack, strings.Join(left, ", "))
	}
	return pass("answered in %d ms, gone after %d ms", answered.Milliseconds(), time.Since(begun).Milliseconds())
}

// shutDownController calls go-plugin's controller, which plugins in other languages may lack, and closes
// stdin.
func shutDownController(ctx context.Context, s *subprocess.Session) {
	limited, cancel := subprocess.WithTimeout(ctx, time.Second)
	defer cancel()
	var response []byte
	_ = s.Conn.Invoke(limited, "/plugin.GRPCController/Shutdown", []byte{}, &response, subprocess.SendRaw())
	subprocess.Poll(ctx, time.Second, s.Ended)
	_ = s.Stdin.Close()
}
