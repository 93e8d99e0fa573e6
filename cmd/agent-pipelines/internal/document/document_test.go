package document_test

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
)

func TestMarshal(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value any
		next  []string
		want  string
	}{
		{
			"fields between",
			document.Request{Session: "a<b", Requested: "pause"},
			[]string{"x y"},
			`{"schema":"agent-pipelines.request/v1","session":"a<b","requested":"pause","next_commands":["x y"]}`,
		},
		{"a pointer", &document.Help{Subject: "s", Text: "t"}, nil, `{"schema":"agent-pipelines.help/v1","subject":"s","text":"t","next_commands":[]}`},
		{"nothing said", document.Trust{}, nil, `{"schema":"agent-pipelines.trust/v1","next_commands":[]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := document.Marshal(tt.value, tt.next...)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
	for _, value := range []any{nil, 1, map[string]string{}, event.Line{}, pluginhost.Listing{}} {
		if got, err := document.Marshal(value); err == nil {
			t.Errorf("%T is no document, and became %s", value, got)
		}
	}
}

// A schema refuses documents of another shape, and documents with fields that its version does not have.
func TestSchemaRefuses(t *testing.T) {
	shape, _ := document.Named("version")
	text, err := shape.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]any{"schema": "agent-pipelines.version/v1", "version": "1", "go": "go", "os": "linux", "arch": "arm64", "next_commands": []any{}}
	if err := resolved.Validate(good); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(map[string]any){
		"another shape":    func(m map[string]any) { m["schema"] = "agent-pipelines.status/v1" },
		"an unknown field": func(m map[string]any) { m["more"] = 1 },
		"a missing field":  func(m map[string]any) { delete(m, "os") },
		"another type":     func(m map[string]any) { m["go"] = 1 },
		"no next commands": func(m map[string]any) { delete(m, "next_commands") },
	} {
		bad := map[string]any{}
		b, _ := json.Marshal(good)
		if err := json.Unmarshal(b, &bad); err != nil {
			t.Fatal(err)
		}
		change(bad)
		if resolved.Validate(bad) == nil {
			t.Errorf("%s is allowed", name)
		}
	}
}
