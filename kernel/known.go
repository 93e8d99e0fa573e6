package kernel

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/restore"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/rundir"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// known is what the files of a session tell to somebody who only looks: its plan, its state, and what of
// them is damaged. Nothing is started and nothing written.
func (e *Engine) known(dir *rundir.Dir, log journal.Log) (*plan.Plan, state.State, string, error) {
	p, err := loadPlan(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && failure.KindOf(err) != failure.StateCorrupt {
		return nil, state.State{}, "", err
	}
	damage := ""
	if p == nil {
		p = &plan.Plan{}
		if err != nil && len(log.Events) > 0 {
			damage = "plan.json cannot be read: " + err.Error()
		}
	}
	st, _ := schedule.Fold(p, log.Events) // late deliveries do not fit, and do not count
	if st.RunID != "" && !log.Report.Damaged() && log.Report.Unnumbered == 0 {
		return p, st, damage, nil
	}
	return e.recovered(dir, p, st, damage)
}

// recovered is what is known of a session whose journal a fold cannot take.
func (e *Engine) recovered(dir *rundir.Dir, p *plan.Plan, st state.State, damage string) (*plan.Plan, state.State, string, error) {
	found, err := restore.Read(dir)
	if err != nil {
		return nil, st, "", err
	}
	if found.Origin() == restore.Bash && found.IsLoop() {
		p, damage = found.Loop().Plan(), ""
	}
	b := restore.Base{Plan: p, RunID: "-", SchedulerVersion: schedule.Version, Legacy: e.config.variable(legacyVariable) == "1"}
	r, err := found.Restore(b)
	if err != nil {
		if len(found.Lines) > 0 || !isNew(dir) {
			damage = strings.TrimPrefix(damage+"; "+err.Error(), "; ")
		}
		return p, st, damage, nil
	}
	if r.State.RunID == b.RunID {
		r.State.RunID = ""
	}
	if len(r.Lost) > 0 {
		damage = strings.TrimPrefix(damage+"; "+strings.Join(r.Lost, "; "), "; ")
	}
	return p, r.State, damage, nil
}

// isNew reports whether no run can have begun in a session's directory: there is no state, and no folder
// of a node. A kernel that was killed before its first line leaves a plan and no more.
func isNew(dir *rundir.Dir) bool {
	if _, err := dir.Stat(rundir.StateFile); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	entries, err := dir.Entries(".")
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() && isNodeFolder(e.Name()) })
}

func isNodeFolder(name string) bool {
	kind, _, _ := strings.Cut(name, "-")
	return slices.Contains([]plan.Kind{plan.KindStage, plan.KindParallel, plan.KindPipeline}, plan.Kind(kind))
}

// unreadable refuses to begin where something lies that nobody can read.
func unreadable(name, damage string) error {
	return failure.New(failure.StateCorrupt, "session '%s' exists and is damaged: %s", name, damage).
		WithHint("agent-pipelines repair %s --dry-run shows what is known; --force starts again from the beginning", name)
}
