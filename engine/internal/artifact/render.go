package artifact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/yamlwrite"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// minJSONBytes is the size in bytes above which an artifact is stored as JSON, which is valid YAML: a program reads
// JSON faster, and users do not read so long a text.
const minJSONBytes = 1 << 20

// minJSONValues is the same limit in values, counted by the commas between them: YAML with more values is slow to read,
// and is refused above [yamldoc.MaxValues].
const minJSONValues = yamldoc.MaxValues / 4

// Render returns the stored form of the artifact: the envelope around the data, with the data's members sorted by
// name.
func (a Artifact) Render() ([]byte, error) {
	all := maps.Clone(a.Data)
	if all == nil {
		all = map[string]any{}
	}
	all[metaKey], all[metadataKey] = toPlain(a.Meta), toPlain(a.Metadata)
	text, err := json.MarshalIndent(all, "", "")
	if err != nil {
		return nil, fmt.Errorf("render artifact: %w", err)
	}
	if len(text) > minJSONBytes || bytes.Count(text, []byte{','}) > minJSONValues {
		return append(text, '\n'), nil
	}
	members := []yamlwrite.Member{{Key: metaKey, Value: all[metaKey]}}
	for _, key := range slices.Sorted(maps.Keys(a.Data)) {
		members = append(members, yamlwrite.Member{Key: key, Value: a.Data[key]})
	}
	return yamlwrite.Render(append(members, yamlwrite.Member{Key: metadataKey, Value: all[metadataKey]}))
}
