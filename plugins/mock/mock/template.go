package mock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// template finds what is replaced in the texts of a reply.
var template = regexp.MustCompile(`\$\{(VISIT|ITERATION|ATTEMPT|STEP|NODE)\}`)

// templates say what the templates of one request's reply stand for.
type templates map[string]string

func templatesOf(req sdk.ExecuteRequest) templates {
	return templates{
		"VISIT": strconv.Itoa(req.Visit), "ITERATION": strconv.Itoa(req.Iteration), "ATTEMPT": strconv.Itoa(req.Attempt),
		"STEP": stepOf(req), "NODE": req.Node,
	}
}

// fill returns the reply with all templates replaced. The reply itself, which others share, stays as it is.
func (r Reply) fill(t templates) (Reply, error) {
	r.Output, r.RawResult, r.RawArtifact = t.pointed(r.Output), t.pointed(r.RawResult), t.pointed(r.RawArtifact)
	r.Progress = t.text(r.Progress)
	r.OutputChunks, r.Messages = t.texts(r.OutputChunks), t.texts(r.Messages)
	for _, object := range []*json.RawMessage{&r.Result, &r.Status, &r.Artifact} {
		filled, err := t.object(*object)
		if err != nil {
			return Reply{}, err
		}
		*object = filled
	}
	return r, nil
}

func (t templates) text(s string) string {
	return template.ReplaceAllStringFunc(s, func(found string) string { return t[name(found)] })
}

// name is what stands between the braces.
func name(found string) string { return found[len("${") : len(found)-len("}")] }

func (t templates) pointed(s *string) *string {
	if s == nil {
		return nil
	}
	filled := t.text(*s)
	return &filled
}

func (t templates) texts(list []string) []string {
	if list == nil {
		return nil
	}
	filled := make([]string, len(list))
	for i, s := range list {
		filled[i] = t.text(s)
	}
	return filled
}

// object fills the texts and keys of a JSON value. One without templates stays as it is, byte for byte.
func (t templates) object(raw json.RawMessage) (json.RawMessage, error) {
	if !template.Match(raw) {
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
	if err := encoder.Encode(t.value(tree)); err != nil {
		return nil, fmt.Errorf("mock: %w", err)
	}
	return bytes.TrimSuffix(filled.Bytes(), []byte("\n")), nil
}

// value fills a value. A text that is nothing but the template of a number becomes that number, since schemas
// ask for numbers.
func (t templates) value(v any) any {
	switch v := v.(type) {
	case string:
		filled := t.text(v)
		if whole := template.FindString(v); whole == v && v != "" && numeric(name(v)) {
			return json.Number(filled)
		}
		return filled
	case []any:
		for i := range v {
			v[i] = t.value(v[i])
		}
		return v
	case map[string]any:
		filled := make(map[string]any, len(v))
		for key, member := range v {
			filled[t.text(key)] = t.value(member)
		}
		return filled
	default:
		return v
	}
}

func numeric(name string) bool { return name != "STEP" && name != "NODE" }
