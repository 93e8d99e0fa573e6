package mcpserve

import (
	"context"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine"
)

type artifactsIn struct {
	sessionArgument
	All bool `json:"all,omitempty" jsonschema:"every version, not only the newest of each node"`
}

type artifactsOut struct {
	Artifacts []engine.ArtifactInfo `json:"artifacts"`
}

func (s *server) artifacts(ctx context.Context, _ call, in artifactsIn) (out artifactsOut, err error) {
	return out, s.Use(ctx, func(e *engine.Engine) error {
		list, err := e.Artifacts(in.Session)
		if !in.All {
			list = slices.DeleteFunc(list, func(i engine.ArtifactInfo) bool { return !i.Latest })
		}
		out.Artifacts = append([]engine.ArtifactInfo{}, list...)
		return err
	})
}

type readArtifactIn struct {
	sessionArgument
	Node   string `json:"node" jsonschema:"the node's id or path; input is the run's input"`
	Offset int    `json:"offset,omitempty" jsonschema:"where to begin, in bytes; default 0"`
}

type readArtifactOut struct {
	Artifact   engine.ArtifactInfo `json:"artifact"`
	Text       string              `json:"text"`
	NextOffset int                 `json:"next_offset,omitempty" jsonschema:"there is more from here"`
}

func (s *server) readArtifact(ctx context.Context, _ call, in readArtifactIn) (out readArtifactOut, err error) {
	if err := checkName("node", in.Node); err != nil {
		return out, err
	}
	return out, s.Use(ctx, func(e *engine.Engine) error {
		list, err := e.Artifacts(in.Session)
		if err != nil {
			return err
		}
		chosen, err := s.Artifact(in.Session, list, in.Node)
		if err != nil {
			return err
		}
		content, err := e.ReadArtifact(in.Session, chosen)
		if err != nil {
			return err
		}
		whole := s.Clean(string(content.Text)) // before it is cut, since a cut may go through a secret
		if in.Offset < 0 || in.Offset > len(whole) {
			return wrong(fmt.Sprintf("offset cannot be %d", in.Offset), fmt.Sprintf("the artifact has %d bytes", len(whole)))
		}
		out.Artifact = content.ArtifactInfo
		var left int
		out.Text, left = cut(whole[in.Offset:], maxText)
		if left > 0 {
			out.NextOffset = len(whole) - left
		}
		return nil
	})
}
