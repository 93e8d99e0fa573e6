package outcome

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Bounds of the paths that a check is given.
const (
	maxFiles = 500
	maxPath  = 4096 // bytes
)

// configOf is the check's configuration for the action. Where it is to look at files that an artifact names, they are
// in it; wrong says what is wrong with them: nothing is measured then, and the check does not pass.
func (w *work) configOf(c plan.Check) (config json.RawMessage, wrong string, err error) {
	if c.FilesFrom == "" {
		return c.Config, "", nil
	}
	named, err := w.filesFrom(c)
	if err != nil {
		return c.Config, "", err
	}
	files, wrong := w.checked(c.FilesFrom, named)
	if wrong != "" {
		return c.Config, wrong, nil
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(c.Config, &members); err != nil {
		return c.Config, "", fmt.Errorf("read the check %s: %w", c.ID, err)
	}
	if members[filesKey], err = json.Marshal(files); err != nil {
		return c.Config, "", err
	}
	config, err = json.Marshal(members)
	return config, "", err
}

// filesFrom is the value of the field: of the effective input, so that no agent chooses what it is measured by; else,
// after the attempt, of the artifact that the agent has just made.
func (w *work) filesFrom(c plan.Check) (any, error) {
	input, err := artifact.EffectiveInput(w.Dir, w.Plan, w.State, w.Node, w.at)
	if err != nil {
		return nil, err
	}
	if v := artifact.Field(input.Data, c.FilesFrom); v != nil {
		return v, nil
	}
	if w.loop.Attempted != nil && c.At != plan.AtEnter && w.Node.Artifact != nil {
		own, err := w.own()
		if err != nil {
			return nil, err
		}
		if v := artifact.Field(own, c.FilesFrom); v != nil {
			return v, nil
		}
	}
	return nil, failure.New(failure.ResultMissing, "no artifact has the field %s, which the check %s takes its files from", c.FilesFrom, c.ID).
		WithHint("files_from names a field of the artifact that the node is given (inputs.from, else the node before), or of its own")
}

// own is the artifact that the attempt left, nil if there is none that can be read.
func (w *work) own() (map[string]any, error) {
	it, err := w.iteration()
	if err != nil {
		return nil, err
	}
	r, err := w.reading()
	if err != nil {
		return nil, err
	}
	found, err := w.left(it, r).Find(w.Node.Artifact)
	if err != nil || found.Data == nil {
		return nil, err
	}
	data, err := w.mapped(found.Data)
	if err != nil {
		return nil, err
	}
	return data, w.complete(data)
}

// complete takes the secrets out of what the agent left, and puts in what is carried over. data is changed.
func (w *work) complete(data map[string]any) error {
	redaction.Data(w.Redactor.Agent(), data)
	if len(w.Node.Artifact.Carry) == 0 {
		return nil
	}
	input, err := artifact.EffectiveInput(w.Dir, w.Plan, w.State, w.Node, w.at)
	if err == nil {
		artifact.Carry(data, input.Data, w.Node.Artifact)
	}
	return err
}

// checked are the paths as a command may be given them: of files of the project, none of which looks like an option.
func (w *work) checked(field string, v any) (files []string, wrong string) {
	list, ok := pathsOf(v)
	if !ok || len(list) == 0 {
		return nil, field + " names no files: it is " + short60(result.Lines(v))
	}
	if len(list) > maxFiles {
		return nil, fmt.Sprintf("%s names %d files, at most %d are taken", field, len(list), maxFiles)
	}
	for _, name := range list {
		clean := path.Clean(name)
		if name == "" || len(name) > maxPath || strings.ContainsRune(name, 0) || path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, fmt.Sprintf("%s names %q, which is no path within the project", field, short60(name))
		}
		switch _, err := w.Project.Stat(clean); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Sprintf("%s names %q, which does not exist", field, short60(name))
		case err != nil: // a link that leads out of the project
			return nil, fmt.Sprintf("%s names %q, which cannot be used: %v", field, short60(name), err)
		}
		if strings.HasPrefix(clean, "-") {
			clean = "./" + clean
		}
		files = append(files, clean)
	}
	return files, ""
}

// pathsOf is a list of paths, each a text or an object with the member path, or one text; false for anything else.
func pathsOf(v any) ([]string, bool) {
	items, isList := v.([]any)
	if !isList {
		return artifact.Texts(v)
	}
	named := make([]any, len(items))
	for i, item := range items {
		named[i] = item
		if of, isMap := item.(map[string]any); isMap {
			named[i] = of["path"]
		}
	}
	return artifact.Texts(named)
}

// short60 is a text for one line of a message.
func short60(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= 60 {
		return s
	}
	return strings.ToValidUTF8(s[:60], "") + "…"
}

// nameArtifacts says where the artifacts lie that a check may look at: what the agent has just left, what the node works
// from, what its pipeline began with.
func (w *work) nameArtifacts(c plan.Check, req *sdk.HookRequest) error {
	if in, has := artifact.InputOf(w.Plan, w.State, w.Node, w.at); has {
		req.InputArtifactFile = w.Dir.Abs(in.Ref.Path)
	}
	req.StageDir = w.Project.StageDir(w.Node)
	if ref, began := artifact.StartOf(w.Plan, w.State, w.at.Outer()); began {
		req.StartArtifactFile = w.Dir.Abs(ref.Path)
	}
	if w.Node.Artifact == nil || w.loop.Attempted == nil || c.At == plan.AtEnter {
		return nil
	}
	left, err := w.keepLeft()
	req.ArtifactFile = left
	return err
}

// keepLeft writes what the agent left as a file that checks can read, with what is carried over and in the form of a kept
// artifact, and returns its path; "" where nothing can be read.
func (w *work) keepLeft() (string, error) {
	data, err := w.own()
	if err != nil || data == nil {
		return "", err
	}
	it, err := w.iteration()
	if err != nil {
		return "", err
	}
	text, err := artifact.Artifact{Meta: artifact.MetaOf(w.Node, time.Now()), Data: data}.Render()
	if err != nil {
		return "", err
	}
	ref, err := w.Dir.Write(it.Left(), text)
	return w.Dir.Abs(ref.Path), err
}
