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
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// These constants bound the paths of a check.
const (
	maxFiles = 500
	maxPath  = 4096 // bytes
)

// checkConfig returns the check's configuration, with the paths of files_from. A wrong that is not empty says why the
// paths are invalid: then the check does not run and has not passed.
func (w *evaluation) checkConfig(c plan.Check) (config json.RawMessage, wrong string, err error) {
	if c.FilesFrom == "" {
		return c.Config, "", nil
	}
	value, err := w.resolveFilesFrom(c)
	if err != nil {
		return c.Config, "", err
	}
	files, wrong := w.checkPaths(c.FilesFrom, value)
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

// resolveFilesFrom returns the value of the field that files_from names. It comes from the node's effective input, so
// that an agent cannot choose the files that measure its work. If the input lacks the field, a check after the attempt
// gets the value from the agent's artifact.
func (w *evaluation) resolveFilesFrom(c plan.Check) (any, error) {
	input, err := artifact.ReadNodeInput(w.Dir, w.Plan, w.State, w.Node, w.at)
	if err != nil {
		return nil, err
	}
	if v := artifact.Field(input.Data, c.FilesFrom); v != nil {
		return v, nil
	}
	if w.loop.CompletedAttempt != nil && c.At != plan.AtEnter && w.Node.Artifact != nil {
		own, err := w.ownArtifact()
		if err != nil {
			return nil, err
		}
		if v := artifact.Field(own, c.FilesFrom); v != nil {
			return v, nil
		}
	}
	return nil, failure.New(failure.ResultMissing, "no artifact has the field %s, which files_from of check %s names", c.FilesFrom, c.ID).
		WithHint("name a field of the input artifact (inputs.from, else the node before) or of the node's own artifact in files_from")
}

// ownArtifact returns the data of the attempt's artifact, nil if there is no readable artifact.
func (w *evaluation) ownArtifact() (map[string]any, error) {
	it, err := w.Iteration()
	if err != nil {
		return nil, err
	}
	r, err := w.readResult()
	if err != nil {
		return nil, err
	}
	found, err := w.agentArtifact(it, r)
	return found.Data, err
}

// agentArtifact finds the attempt's artifact and completes it with its mapped and carried fields. A node with steps
// needs no artifact from its agents: the measured fields may be the whole artifact.
func (w *evaluation) agentArtifact(it store.Iteration, r result.Reading) (artifact.Candidate, error) {
	found, err := w.artifactSources(it, r).Find(w.Node.Artifact)
	if found.From == "" && w.Node.Steps != nil {
		found = artifact.Candidate{Data: map[string]any{}, From: "the steps"}
	}
	if err != nil || found.Data == nil {
		return found, err
	}
	if found.Data, err = w.mapOutputs(found.Data); err != nil {
		return found, err
	}
	return found, w.completeArtifact(found.Data)
}

// checkPaths returns the paths as arguments of a command: existing paths inside the project, none of which looks like
// an option. wrong says why the paths are invalid.
func (w *evaluation) checkPaths(field string, v any) (files []string, wrong string) {
	list, ok := pathList(v)
	if !ok || len(list) == 0 {
		return nil, field + " names no files: it is " + shortenLine(result.Lines(v))
	}
	if len(list) > maxFiles {
		return nil, fmt.Sprintf("%s names %d files, more than the limit of %d", field, len(list), maxFiles)
	}
	for _, name := range list {
		clean := path.Clean(name)
		if name == "" || len(name) > maxPath || strings.ContainsRune(name, 0) || path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, fmt.Sprintf("%s names %q, which is not a path within the project", field, shortenLine(name))
		}
		switch _, err := w.Project.Stat(clean); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Sprintf("%s names %q, which does not exist", field, shortenLine(name))
		case err != nil: // for example, a link that leaves the project
			return nil, fmt.Sprintf("%s names %q, which cannot be used: %v", field, shortenLine(name), err)
		}
		if strings.HasPrefix(clean, "-") {
			clean = "./" + clean
		}
		files = append(files, clean)
	}
	return files, ""
}

// pathList returns the paths in a list of strings or of objects with the member path, or a single path; false for
// anything else.
func pathList(v any) ([]string, bool) {
	items, isList := v.([]any)
	if !isList {
		return artifact.Texts(v)
	}
	paths := make([]any, len(items))
	for i, item := range items {
		paths[i] = item
		if object, isMap := item.(map[string]any); isMap {
			paths[i] = object["path"]
		}
	}
	return artifact.Texts(paths)
}

// shortenLine returns the first 60 bytes of a text, in one line.
func shortenLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= 60 {
		return s
	}
	return strings.ToValidUTF8(s[:60], "") + "…"
}

// addArtifactPaths adds the paths of the artifacts that a check may read: the agent's own, the node's input, and the
// start artifact of its pipeline.
func (w *evaluation) addArtifactPaths(c plan.Check, req *sdk.HookRequest) error {
	if err := w.AddInputPaths(req, w.Node); err != nil {
		return err
	}
	if w.Node.Artifact == nil || w.loop.CompletedAttempt == nil || c.At == plan.AtEnter {
		return nil
	}
	file, err := w.writeAgentArtifact()
	req.ArtifactFile = file
	return err
}

// writeAgentArtifact writes the agent's artifact, with its carried fields and in the stored form, to a file for
// checks. It returns the path, "" without a readable artifact.
func (w *evaluation) writeAgentArtifact() (string, error) {
	data, err := w.ownArtifact()
	if err != nil || data == nil {
		return "", err
	}
	it, err := w.Iteration()
	if err != nil {
		return "", err
	}
	text, err := artifact.Artifact{Meta: artifact.NewMeta(w.Node, time.Now()), Data: data}.Render()
	if err != nil {
		return "", err
	}
	ref, err := w.Dir.Write(it.ArtifactCopy(), text)
	return w.Dir.Abs(ref.Path), err
}

// filesKey is the key in a check's configuration for the paths of files_from.
const filesKey = "files"
