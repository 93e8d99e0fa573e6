package mock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// templatePattern finds what is replaced in the texts of a reply.
var templatePattern = regexp.MustCompile(`\$\{(VISIT|ITERATION|ATTEMPT|STEP|NODE)\}`)

// templateValues say what the templates of one request's reply stand for.
type templateValues map[string]string

func newTemplateValues(req sdk.ExecuteRequest) templateValues {
	return templateValues{
		"VISIT": strconv.Itoa(req.Visit), "ITERATION": strconv.Itoa(req.Iteration), "ATTEMPT": strconv.Itoa(req.Attempt),
		"STEP": stepID(req), "NODE": req.Node,
	}
}

// fillTemplates returns the reply with all templates replaced. The reply itself, which others share, stays as it is.
func (r Reply) fillTemplates(t templateValues) (Reply, error) {
	r.Output, r.RawResult, r.RawArtifact = t.fillOptionalText(r.Output), t.fillOptionalText(r.RawResult), t.fillOptionalText(r.RawArtifact)
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
	return templatePattern.ReplaceAllStringFunc(s, func(found string) string { return t[variableName(found)] })
}

// variableName is what stands between the braces.
func variableName(found string) string { return found[len("${") : len(found)-len("}")] }

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

// fillObject fills the texts and keys of a JSON value. One without templates stays as it is, byte for byte.
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

// fillValue fills a value. A text that is nothing but the template of a number becomes that number, since schemas
// ask for numbers.
func (t templateValues) fillValue(v any) any {
	switch v := v.(type) {
	case string:
		filled := t.fillText(v)
		if whole := templatePattern.FindString(v); whole == v && v != "" && isNumeric(variableName(v)) {
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

func isNumeric(name string) bool { return name != "STEP" && name != "NODE" }
