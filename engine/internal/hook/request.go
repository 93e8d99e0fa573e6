package hook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/condition"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// maxPreviewRunes limits the preview of a file in a question (REQUIREMENTS U251).
const maxPreviewRunes = 500

// maxPreviewBytes limits the part of a file that is read for its preview.
const maxPreviewBytes = 64 << 10

func (k *call) conditionVars() condition.Vars {
	v := condition.Vars{
		Iteration: k.at.Iteration, Session: k.State.Session, Provider: k.provider(), Status: k.status(), Event: string(k.point),
	}
	if k.node != nil {
		v.Stage = k.node.ID
	}
	mode, err := k.DeliveryMode()
	if err != nil {
		k.Log.Warn("the delivery mode is unknown", "error", err)
	}
	v.Delivery = string(mode)
	return v
}

func (k *call) provider() string {
	switch {
	case k.at.Branch != "":
		return k.at.Branch
	case k.node != nil && k.node.Provider != nil:
		return k.node.Provider.EventName()
	default:
		return ""
	}
}

// status returns running at a start. At an end it returns completed or failed for the session, otherwise success or
// another outcome.
func (k *call) status() string {
	st, success := k.State, string(plan.OutcomeSuccess)
	n := st.Nodes[k.at.Outer()]
	switch k.point {
	case plan.PointSessionEnd:
		if st.At == "" {
			return string(state.Completed)
		}
		return string(state.Failed)
	case plan.PointStageEnd:
		return stageStatus(n)
	case plan.PointParallelProviderEnd:
		return cmp.Or(n.Branches[k.at.Branch].Loop.Outcome, success)
	case plan.PointIterationEnd:
		return success // a failed iteration has no end point
	default:
		return string(state.Running)
	}
}

func stageStatus(n state.Node) string {
	if n.Failure != nil {
		return string(plan.OutcomeFail)
	}
	for _, b := range n.Branches {
		if b.Status == state.NodeFailed {
			return string(plan.OutcomeError)
		}
	}
	return cmp.Or(n.Loop.Outcome, string(plan.OutcomeSuccess))
}

// request returns the request of an action.
func (k *call) request() (sdk.HookRequest, error) {
	v := k.conditionVars()
	req := sdk.HookRequest{
		Key: k.State.RunID + "/" + string(k.Command.Key), Point: sdk.HookPoint(k.point), Session: v.Session, Node: v.Stage,
		Iteration: v.Iteration, Provider: v.Provider, Status: v.Status, WorkDir: k.Project.Path(),
	}
	if k.node != nil {
		req.Stage = k.node.Ref
	}
	if k.hook != nil {
		req.Config, req.Message, req.Timeout = k.hook.Config, k.hook.Message, plan.Seconds(k.hook.Timeout)
	}
	if err := k.addArtifactPaths(&req); err != nil {
		return req, err
	}
	var err error
	req.Context, err = InjectedContext(k.Dir, k.State, k.at)
	req.Context = k.Redactor.Text(req.Context)
	if err != nil || !k.isEnd() {
		return req, err
	}
	if ref := k.Loop().Result; ref != nil && k.node != nil {
		if req.Result, err = k.Dir.Read(ref.Path, result.MaxBytes); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return req, err
		}
		var doc struct{ Summary string }
		if json.Unmarshal(req.Result, &doc) == nil {
			req.Summary = doc.Summary
		}
	}
	req.Artifact = k.preview(k.shownFiles())
	return req, nil
}

// addArtifactPaths adds the paths of the node's artifact, its input artifact and the start artifact of its pipeline.
func (k *call) addArtifactPaths(req *sdk.HookRequest) (err error) {
	if k.node == nil {
		if k.State.Input != nil {
			req.StartArtifactFile, err = k.Dir.Verify(*k.State.Input)
		}
		return err
	}
	if err := k.AddInputPaths(req, k.node); err != nil {
		return err
	}
	if ref, made := k.State.NodeArtifact(k.at.Outer()); made {
		req.ArtifactFile, err = k.Dir.Verify(ref)
	}
	return err
}

func (k *call) isEnd() bool { return strings.HasSuffix(string(k.point), "_end") }

// InjectedContext returns the texts of users and hooks for the prompts at a location.
func InjectedContext(d *store.Dir, st state.State, at event.Location) (string, error) {
	texts := []string{}
	for _, ref := range st.InjectedTexts(at) {
		text, err := d.ReadRef(ref)
		if err != nil {
			return "", err
		}
		texts = append(texts, strings.TrimRight(string(text), "\n"))
	}
	if st.Context != "" {
		texts = append(texts, st.Context)
	}
	return strings.Join(texts, "\n"), nil
}

// shownFiles returns the files that a question shows: the node's declared output, then the agent's last output.
func (k *call) shownFiles() []event.Ref {
	if k.node == nil || !k.isEnd() {
		return nil
	}
	var refs []event.Ref
	if name := store.OutputPath(k.Plan, k.node, k.State.Session, k.at); name != "" {
		if ref, err := k.Project.Ref(name); err == nil { // a missing file is not shown
			ref.Path = k.Project.Abs(name)
			refs = append(refs, ref)
		}
	}
	if name := k.outputFile(); name != "" {
		if ref, err := k.Dir.Ref(name); err == nil {
			refs = append(refs, ref)
		}
	}
	return refs
}

// outputFile returns the file with the agent's last output, or at the end of a block its manifest. It is "" without
// either.
func (k *call) outputFile() string {
	n := k.State.Nodes[k.at.Outer()]
	ref, written := n.Artifacts[event.Manifest]
	switch {
	case k.at.Branch != "": // the node's own output is that of the provider that ended last
		if node, err := store.NodeAt(k.Plan, k.at); err == nil {
			return node.Iteration(k.at.Iteration).Output()
		}
		return ""
	case written && len(n.Branches) > 0:
		return ref.Path
	case n.Output == nil || len(n.Branches) > 0:
		return ""
	default:
		return n.Output.Path
	}
}

// preview returns the beginning of the first file, redacted; "" without files.
func (k *call) preview(files []event.Ref) string {
	if len(files) == 0 {
		return ""
	}
	f, err := k.open(files[0])
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, maxPreviewBytes)
	n, _ := f.Read(head) // an empty file has no preview
	text := []rune(k.Redactor.Text(strings.ToValidUTF8(strings.TrimSpace(string(head[:n])), string(utf8.RuneError))))
	if len(text) > maxPreviewRunes {
		return string(text[:maxPreviewRunes]) + "…"
	}
	return string(text)
}

// abs returns the absolute path of a shown file.
func (k *call) abs(f event.Ref) string {
	if filepath.IsAbs(f.Path) {
		return f.Path
	}
	return k.Dir.Abs(f.Path)
}

func (k *call) open(f event.Ref) (*os.File, error) {
	if !filepath.IsAbs(f.Path) {
		return k.Dir.OpenRegular(f.Path)
	}
	name, err := filepath.Rel(k.Project.Path(), f.Path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Path, err)
	}
	return k.Project.OpenRegular(filepath.ToSlash(name))
}
