package session

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/signing"
	"github.com/dodo-digital/agent-pipelines/engine/internal/snapshot"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// breakInvalid is the kind of a [journal.Break]: the head that is kept does not count.
const breakInvalid = "head_invalid"

// Verification is the result of the check of a session's journal.
type Verification struct {
	Session string `json:"session"`
	Journal string `json:"journal"` // absolute path
	// Intact reports that the journal has no break that the user has not accepted. A missing head alone is none.
	Intact bool `json:"whole"`
	journal.Chain
	// Accepted reports that this check has accepted the journal as it is.
	Accepted bool `json:"accepted"`
}

// headFile returns the file with the head of the session's journal.
func (h *handle) headFile() (signing.HeadFile, error) {
	state, err := catalog.StateDir()
	if err != nil {
		return signing.HeadFile{}, err
	}
	project, err := filepath.EvalSymlinks(h.env.Project.Path())
	if err != nil {
		return signing.HeadFile{}, fmt.Errorf("find the project: %w", err)
	}
	return signing.NewHeadFile(state, snapshot.ProjectName(project), h.name), nil
}

// setHead sets the options for the head of the session's journal. It returns why a head that is kept does not count. A
// session can run where no head can be kept.
func (h *handle) setHead(o *journal.Options) (invalid error) {
	heads, err := h.headFile()
	if err == nil {
		o.KeepHead = heads.Keep
		o.Head, invalid, err = heads.LoadValid()
	}
	if err != nil {
		h.log.Warn("cannot read the head of the journal", "error", err)
	}
	return invalid
}

// withInvalidHead adds a break for a head that does not count.
func withInvalidHead(c journal.Chain, invalid error) journal.Chain {
	if invalid == nil {
		return c
	}
	c.Breaks = slices.DeleteFunc(c.Breaks, func(b journal.Break) bool { return b.Kind == journal.BreakHead })
	c.Breaks = append(c.Breaks, journal.Break{Seq: c.End.Seq, Kind: breakInvalid, Message: "the head in your state directory does not count: " + invalid.Error()})
	c.BreakCount = max(c.BreakCount, len(c.Breaks))
	return c
}

// checkChain refuses to continue a session whose journal was changed. A missing head is only logged: a project that was
// moved, or another machine, has none.
func (h *handle) checkChain(c journal.Chain) error {
	switch {
	case c.BreakCount == 0:
		return nil
	case c.LacksHeadOnly():
		h.log.Warn("the journal may be incomplete: " + c.Breaks[0].Message)
		return nil
	default:
		return failure.New(failure.Tampered, "the journal of session '%s' is not as you left it: %s", h.name, c.BreakText()).
			WithHint("`%s` shows what was changed; after a backup, or work from another machine or state directory, `%s` accepts the journal as it is", failure.Next("session verify", h.name), failure.Next("session verify", h.name, "--accept"))
	}
}

// Verify checks whether a session's journal was changed. If accept is set, it accepts all present lines as they are, so
// that the session can be resumed. The error wraps [ErrLocked] if accept is set and a kernel holds the
// session, and [store.ErrNoSession] if there is none.
func (e *Supervisor) Verify(ctx context.Context, name string, accept bool) (*Verification, error) {
	if !accept {
		dir, err := inspect.Open(e.env, name)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		return newHandle(e.env, name, dir).verify(ctx, false)
	}
	if err := store.CheckSession(name); err != nil {
		return nil, err
	}
	l := newLease(e, name)
	err := l.acquire(false, false)
	if err != nil {
		return nil, l.close(err)
	}
	v, err := l.handle.verify(ctx, true)
	return v, l.close(err)
}

// verify compares the journal with the head. A head that changes meanwhile belongs to lines that were not read.
func (h *handle) verify(ctx context.Context, accept bool) (*Verification, error) {
	heads, err := h.headFile()
	if err != nil {
		return nil, err
	}
	v := &Verification{Session: h.name, Journal: h.dir.Abs(store.EventsFile)}
	for again := true; again; {
		head, invalid, err := heads.LoadValid()
		if err != nil {
			return nil, err
		}
		if v.Chain, err = journal.Verify(h.dir, head); err != nil {
			return nil, err
		}
		v.Chain = withInvalidHead(v.Chain, invalid)
		later, _, _ := heads.LoadValid()
		again = v.BreakCount > 0 && ctx.Err() == nil && !reflect.DeepEqual(head, later)
	}
	v.Intact = v.BreakCount == 0 || v.LacksHeadOnly()
	if v.Accepted = accept && v.BreakCount > 0; v.Accepted {
		err = heads.Keep(v.End)
	}
	return v, err
}
