package verification

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/signing"
	"github.com/dodo-digital/agent-pipelines/engine/internal/snapshot"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
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
	// SignedBy is the key of the copy of the head if only the copy shows that the last lines are honest, else nil.
	SignedBy *signing.Key `json:"signed_by,omitempty"`
	// UntrustedKey is the key of a head that does not count, because the user does not trust the key.
	UntrustedKey string `json:"untrusted_key,omitempty"`
	// Accepted reports that this check has accepted the journal as it is.
	Accepted bool `json:"accepted"`
}

// Refusal returns the error of a session that cannot continue because its journal was changed, nil if it can.
func (v *Verification) Refusal() error {
	if v.Intact || v.Accepted {
		return nil
	}
	trust := ""
	if v.UntrustedKey != "" {
		trust = "if its owner gave you this key, `" + failure.Next("keys trust", v.UntrustedKey).String() + "` trusts it; "
	}
	return failure.New(failure.Tampered, "the journal of session '%s' is not as you left it: %s", v.Session, v.BreakText()).
		WithHint("`%s` shows what was changed; %safter a backup, or work from another machine or state directory, `%s` accepts the journal as it is; `%s` removes the session",
			failure.Next("session verify", v.Session), trust, failure.Next("session verify", v.Session, "--accept"), failure.Next("session rm", v.Session))
}

// Heads are the heads of a session's journal.
type Heads struct {
	dir     *store.Dir
	file    signing.HeadFile
	head    *journal.Head // nil for none that counts
	invalid error         // why the head that is kept does not count
	copied  signing.Copy
}

// Open returns the heads of a session's journal without reading them.
func Open(dir *store.Dir) (Heads, error) {
	state, err := catalog.StateDir()
	if err != nil {
		return Heads{}, err
	}
	project, err := filepath.EvalSymlinks(dir.Project())
	if err != nil {
		return Heads{}, fmt.Errorf("find the project: %w", err)
	}
	return Heads{dir: dir, file: signing.NewHeadFile(state, snapshot.ProjectName(project), dir)}, nil
}

// Load reads the heads of a session's journal. With an error of the kind config_invalid or state_corrupt a head may exist
// that cannot be read. A user who has no place for heads has none.
func Load(dir *store.Dir, log hclog.Logger) (Heads, error) {
	h, err := Open(dir)
	if err == nil {
		if h.head, err = h.file.Load(); errors.Is(err, signing.ErrInvalid) {
			h.invalid, err = err, nil
		}
		if err != nil && h.file.MayExist() {
			return h, err
		}
		h.copied = h.file.LoadCopy()
	}
	if err != nil {
		log.Warn("no head of the journal can be kept; lines that are cut off cannot be found", "error", err)
	}
	return h, nil
}

// trusted returns the copy of the head if the user trusts its signer, else nil.
func (h Heads) trusted() *journal.Head {
	if !h.copied.Trusted {
		return nil
	}
	return h.copied.At
}

// Configure sets the options for the heads of a journal.
func (h Heads) Configure(o *journal.Options) {
	if o.Head, o.Copy = h.head, h.trusted(); h.dir != nil {
		o.KeepHead = h.file.Keep
	}
}

// Keep keeps a head. An error is only logged if there is no older head, which would contradict the journal.
func (h Heads) Keep(head journal.Head, log hclog.Logger) error {
	if h.dir == nil {
		return nil
	}
	err := h.file.Keep(head)
	if err != nil && h.head == nil && h.invalid == nil {
		log.Warn("cannot keep the head of the journal", "error", err)
		return nil
	}
	return err
}

// Remove removes the head outside of the session.
func (h Heads) Remove() error { return h.file.Remove() }

// Read reads a session's journal as [journal.Read] does, and judges its chain.
func (h Heads) Read(dir *store.Dir, each func(event.Event) error) (journal.Summary, *Verification, error) {
	log, err := journal.Verify(dir, h.head, h.trusted(), each)
	return log, h.Judge(dir, log.Chain), err
}

// Judge returns the result of a check of the chain with these heads.
func (h Heads) Judge(dir *store.Dir, c journal.Chain) *Verification {
	v := &Verification{Session: dir.Session(), Journal: dir.Abs(store.EventsFile), Chain: c}
	if c.ByCopy {
		v.SignedBy = &h.copied.Signer
	}
	if h.invalid != nil {
		v.addInvalid(h.invalid)
	}
	if at := h.copied.At; at != nil && !h.copied.Trusted && at.Rest && at.Seq == c.End.Seq && at.Digest == c.End.Digest {
		v.addUntrusted(h.copied.Signer.Public)
	}
	v.Intact = v.BreakCount == 0 || v.LacksHeadOnly()
	return v
}

// addInvalid adds a break for a head that does not count.
func (v *Verification) addInvalid(invalid error) {
	if untrusted, ok := errors.AsType[signing.UntrustedError](invalid); ok {
		v.UntrustedKey = untrusted.Public
	}
	v.Breaks = slices.DeleteFunc(v.Breaks, func(b journal.Break) bool { return b.Kind == journal.BreakHead })
	v.Breaks = append(v.Breaks, journal.Break{Seq: v.End.Seq, Kind: breakInvalid, Message: "the head in your state directory does not count: " + invalid.Error()})
	v.BreakCount = max(v.BreakCount, len(v.Breaks))
}

// addUntrusted adds the signer of the journal's end to the breaks that the signature would explain.
func (v *Verification) addUntrusted(key string) {
	for i := range v.Breaks {
		switch b := &v.Breaks[i]; b.Kind {
		case journal.BreakAdded, journal.BreakOtherRun, journal.BreakHead:
			v.UntrustedKey = key
			b.Message += fmt.Sprintf("; its end is signed with the key %s, which you do not trust", key)
		}
	}
}

// RefuseChanged returns the error of a session that cannot continue because its journal was changed, or because its head
// cannot be read. It returns nil if the session can continue.
func RefuseChanged(ctx context.Context, dir *store.Dir, log hclog.Logger) error {
	v, err := Check(ctx, dir, log, false)
	if err != nil {
		return err
	}
	return v.Refusal()
}

// Check compares the journal of a session with its heads. If accept is set, it accepts all present lines as they are; only
// the holder of the session may do that. A head that changes meanwhile belongs to lines that were not read.
func Check(ctx context.Context, dir *store.Dir, log hclog.Logger, accept bool) (*Verification, error) {
	for {
		heads, err := Load(dir, log)
		if err != nil {
			return nil, err
		}
		_, v, err := heads.Read(dir, nil)
		if err != nil {
			return nil, err
		}
		if v.BreakCount > 0 && ctx.Err() == nil {
			if later, err := Load(dir, log); err == nil && !reflect.DeepEqual(heads.head, later.head) {
				continue
			}
		}
		if v.Accepted = accept && v.BreakCount > 0; v.Accepted {
			err = heads.file.Keep(v.End)
		}
		return v, err
	}
}
