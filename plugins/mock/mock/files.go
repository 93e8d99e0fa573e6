package mock

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// writeFiles writes the files of the agent: progress, artifact, and result or status.
func (p *performance) writeFiles(context.Context) error {
	if p.reply.Progress != "" {
		if p.req.Paths.Progress == "" {
			return missingPathError("a progress")
		}
		if err := appendText(p.req.Paths.Progress, p.reply.Progress); err != nil {
			return err
		}
	}
	if err := p.writeArtifact(); err != nil {
		return err
	}
	switch r := p.reply; {
	case r.Result != nil:
		return p.writeResult(r.Result)
	case r.Status != nil:
		return p.writeStatus(r.Status)
	case r.NoResult || !r.succeeds() || p.req.Purpose == sdk.PurposeQuestion:
		return nil
	default:
		return p.writeFixture()
	}
}

func (p *performance) writeArtifact() error {
	text := []byte(p.reply.Artifact)
	switch {
	case p.reply.ArtifactFile != "":
		var err error
		if text, err = os.ReadFile(absolutePath(p.req.WorkDir, p.reply.ArtifactFile)); err != nil {
			return failure.New(failure.ConfigInvalid, "mock: read artifact_file: %w", err)
		}
	case p.reply.RawArtifact != nil:
		text = []byte(*p.reply.RawArtifact)
	case text == nil:
		return nil
	}
	if p.req.Paths.Result == "" {
		return missingPathError("an artifact")
	}
	return writeFile(filepath.Join(filepath.Dir(p.req.Paths.Result), artifactFile), text)
}

// writeFixture writes the fixture of the iteration or the built-in result.
func (p *performance) writeFixture() error {
	text, isStatus, err := p.script.fixtures.readResult(p.req.Iteration)
	if err != nil {
		return err
	}
	switch {
	case p.req.Paths.Result == "" && (!isStatus || p.req.Paths.Status == ""):
		return nil // the request asks for no file
	case isStatus:
		return p.writeStatus(text)
	case text != nil:
		return p.writeResult(text)
	}
	if text, err = json.Marshal(builtinResult(p.req.Iteration)); err != nil {
		return fmt.Errorf("mock: %w", err)
	}
	return p.writeResult(text)
}

func (p *performance) writeResult(text []byte) error {
	if p.req.Paths.Result == "" {
		return missingPathError("a result")
	}
	return writeFile(p.req.Paths.Result, text)
}

// writeStatus writes the status, or the converted result if the request has only a result path.
func (p *performance) writeStatus(text []byte) error {
	if p.req.Paths.Status != "" {
		return writeFile(p.req.Paths.Status, text)
	}
	converted, err := convertStatus(text)
	if err != nil {
		return err
	}
	return p.writeResult(converted)
}
