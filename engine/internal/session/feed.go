package session

import (
	"cmp"
	"context"
	"sync"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
)

// feed passes a session's events and reports to the run's observer and to the engine's subscribers, and journals
// informational events, which no effect reports. It is safe for concurrent use.
type feed struct {
	lease *lease
	setup *setup

	deferMu  sync.Mutex // guards:
	runBegun bool       // the run's first events are written
	deferred []event.Event

	observeMu sync.Mutex // held while observers are called
	observe   func(inspect.Update)
}

// send completes an update and passes it to the run's observer, one at a time, and to the subscribers.
func (f *feed) send(u inspect.Update) {
	f.observeMu.Lock()
	defer f.observeMu.Unlock()
	u.Session, u.Plan, u.Dir = f.setup.handle.name, f.setup.plan, f.setup.handle.dir.Path()
	f.observe(u)
	f.lease.engine.publish(u)
}

// sendWarnings sends the compiler's warnings before the run starts, because a run may take hours.
func (f *feed) sendWarnings() {
	if len(f.setup.warnings) > 0 {
		f.send(inspect.Update{Warnings: f.setup.warnings})
	}
}

// pluginEvent journals the start and end of plugin processes. Before the run's first events they are
// deferred.
func (f *feed) pluginEvent(n pluginhost.Notice) {
	if n.Event == pluginhost.SurvivorEnded {
		f.deferInfo(event.New(event.SurvivorEnded, nil, "", n.Survivor))
		return
	}
	d := event.PluginData{
		Plugin: n.Command, SHA256: n.SHA256, PID: n.PID, Environment: n.Environment, Shared: n.Shared, Reattached: n.Reattached, Detail: n.Detail, Sandbox: pluginSandbox(n),
	}
	f.deferInfo(event.New(event.Type(n.Event), nil, "", d))
}

// pluginSandbox returns the journal's description of a process's isolation, nil for none.
func pluginSandbox(n pluginhost.Notice) *event.SandboxData {
	if n.Sandbox == nil || n.Requested == nil {
		return nil
	}
	got := n.Sandbox
	return &event.SandboxData{
		Requested: string(n.Requested.Mode), AskedNetwork: string(cmp.Or(n.Requested.Tools, n.Requested.Network)), Unasked: n.Requested.BestEffort,
		Mode: string(got.Mode), Network: string(got.Network), ToolsNetwork: string(got.Tools), Landlock: got.Landlock, Seccomp: got.Seccomp, Bubblewrap: got.Bubblewrap, Guarded: got.Guarded,
		Read: n.Requested.Read, Write: n.Requested.Write, Memory: got.Memory, Processes: got.Processes, CPU: got.CPUSeconds, Lacks: got.Missing,
	}
}

// deferInfo appends an informational event, but not before the run's first events.
func (f *feed) deferInfo(e event.Event) {
	f.deferMu.Lock()
	defer f.deferMu.Unlock()
	if !f.runBegun {
		f.deferred = append(f.deferred, e)
		return
	}
	f.appendInfo(e)
}

// flushDeferred journals the deferred events, once the run's first events are written.
func (f *feed) flushDeferred() {
	f.deferMu.Lock()
	defer f.deferMu.Unlock()
	f.runBegun = true
	for _, e := range f.deferred {
		f.appendInfo(e)
	}
	f.deferred = nil
}

// appendInfo journals an informational event that no effect reports.
func (f *feed) appendInfo(e event.Event) {
	stamped, err := f.lease.journal.Append(context.Background(), e)
	if err != nil {
		f.setup.handle.log.Debug("event not journaled", "type", e.Type, "error", err)
	}
	for i := range stamped {
		f.send(inspect.Update{Event: &stamped[i]})
	}
}
