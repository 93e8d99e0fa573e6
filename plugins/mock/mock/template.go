package mock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// templatePattern matches the templates in the texts of a reply.
var templatePattern = regexp.MustCompile(`\$\{(VISIT|ITERATION|ATTEMPT|STEP|NODE)\}`)

// templateValues are the values of the templates of one request, by name.
type templateValues map[string]string

func newTemplateValues(req sdk.ExecuteRequest) templateValues {
	return templateValues{
		"VISIT": strconv.Itoa(req.Visit), "ITERATION": strconv.Itoa(req.Iteration), "ATTEMPT": strconv.Itoa(req.Attempt),
		"STEP": stepID(req), "NODE": req.Node,
	}
}

// fillTemplates returns the reply with all templates replaced. The receiver, which other requests share, stays
// unchanged.
func (r Reply) fillTemplates(t templateValues) (Reply, error) {
	r.Output, r.RawArtifact = t.fillOptionalText(r.Output), t.fillOptionalText(r.RawArtifact)
	r.Progress = t.fillText(r.Progress)
	r.OutputChunks, r.Messages = t.fillTexts(r.OutputChunks), t.fillTexts(r.Messages)
	for _, object := range []*json.RawMessage{&r.Result, &r.Status, &r.Artifact} {
		filled, err := t.fillObject(*object)
		if err != nil {
			return Reply{}, err
		}
		*object = filled
	}
	return r, nil
}

func (t templateValues) fillText(s string) string {
	return templatePattern.ReplaceAllStringFunc(s, func(reference string) string { return t[variableName(reference)] })
}

// variableName returns the name between the braces.
func variableName(reference string) string { return reference[len("${") : len(reference)-len("}")] }

func (t templateValues) fillOptionalText(s *string) *string {
	if s == nil {
		return nil
	}
	filled := t.fillText(*s)
	return &filled
}

func (t templateValues) fillTexts(list []string) []string {
	if list == nil {
		return nil
	}
	filled := make([]string, len(list))
	for i, s := range list {
		filled[i] = t.fillText(s)
	}
	return filled
}

// fillObject replaces the templates in the texts and keys of a JSON value. A value without templates stays byte
// for byte unchanged.
func (t templateValues) fillObject(raw json.RawMessage) (json.RawMessage, error) {
	if !templatePattern.Match(raw) {
		return raw, nil
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("mock: %w", err)
	}
	var filled bytes.Buffer
	encoder := json.NewEncoder(&filled)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(t.fillValue(tree)); err != nil {
		return nil, fmt.Errorf("mock: %w", err)
	}
	return bytes.TrimSuffix(filled.Bytes(), []byte("\n")), nil
}

// fillValue replaces the templates of a value. A text that consists of the template of a number becomes that
// number, since schemas require numbers.
func (t templateValues) fillValue(v any) any {
	switch v := v.(type) {
	case string:
		filled := t.fillText(v)
		if whole := templatePattern.FindString(v); whole == v && v != "" && v != "${STEP}" && v != "${NODE}" {
			return json.Number(filled)
		}
		return filled
	case []any:
		for i := range v {
			v[i] = t.fillValue(v[i])
		}
		return v
	case map[string]any:
		filled := make(map[string]any, len(v))
		for key, member := range v {
			filled[t.fillText(key)] = t.fillValue(member)
		}
		return filled
	default:
		return v
	}
}
