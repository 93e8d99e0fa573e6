package hooks

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

func raws(texts ...string) []json.RawMessage {
	var list []json.RawMessage
	for _, t := range texts {
		list = append(list, json.RawMessage(t))
	}
	return list
}

func TestWebhookConforms(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "mind the gap")
	}))
	defer server.Close()
	plugintest.HookAction(t, plugintest.HookActionConfig{
		New:    func(testing.TB) sdk.HookAction { return NewWebhook() },
		Config: json.RawMessage(`{"url": "` + server.URL + `", "retries": 0}`),
		Cases: []plugintest.HookCase{
			{Name: "a text", Request: sdk.HookRequest{Point: sdk.StageEnd}, Want: sdk.ActionModifyContext},
			{Name: "a text that nobody reads any more", Request: sdk.HookRequest{Point: sdk.SessionEnd}},
		},
		Refused: raws(`{}`, `{"url": "ftp://x"}`, `{"url": "http://x", "secret_env": "NOT_SET_ANYWHERE"}`),
	})
}

func TestScriptConforms(t *testing.T) {
	plugintest.HookAction(t, plugintest.HookActionConfig{
		New:    func(t testing.TB) sdk.HookAction { return &Script{quiet(t)} },
		Config: json.RawMessage(`{"command": "echo mind the gap"}`),
		Cases: []plugintest.HookCase{
			{Name: "prints", Request: sdk.HookRequest{Point: sdk.StageEnd}, Want: sdk.ActionModifyContext},
			{Name: "prints in vain", Request: sdk.HookRequest{Point: sdk.SessionEnd}},
			{Name: "is silent", Request: sdk.HookRequest{Config: json.RawMessage(`{"command": "true"}`)}},
		},
		Refused: raws(`{}`, `{"command": "a", "script": "b"}`),
	})
}

func TestCheckConforms(t *testing.T) {
	plugintest.HookAction(t, plugintest.HookActionConfig{
		New:     func(t testing.TB) sdk.HookAction { return &Check{quiet(t)} },
		Config:  json.RawMessage(`{"type": "command", "command": "true"}`),
		Cases:   []plugintest.HookCase{{Name: "passes"}, {Name: "fails", Request: sdk.HookRequest{Config: json.RawMessage(`{"type": "file", "path": "x"}`)}}},
		Refused: raws(`{}`, `{"type": "tests"}`),
	})
}

func TestWrappedConforms(t *testing.T) {
	plugintest.Provider(t, plugintest.ProviderConfig{
		New:    func(testing.TB) sdk.Provider { return NewWrapped() },
		Normal: plugintest.Case{Run: "cat", Input: json.RawMessage(`{"a": 1}`)},
		Slow:   plugintest.Case{Run: "echo begun; sleep 600 & wait"},
		Large:  plugintest.Case{Run: `printf '{"a": "'; head -c 5000000 /dev/zero | tr '\0' x; printf '"}'`},
	})
}

// The schemas are written by hand; this holds them to the structs that read the configurations.
func TestSchemasNameWhatIsRead(t *testing.T) {
	for name, is := range map[string]struct {
		schema []byte
		config reflect.Type
	}{
		"webhook": {webhookSchema, reflect.TypeFor[WebhookConfig]()},
		"script":  {scriptSchema, reflect.TypeFor[ScriptConfig]()},
		"check":   {checkSchema, reflect.TypeFor[CheckConfig]()},
	} {
		var declared struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(is.schema, &declared); err != nil {
			t.Fatal(err)
		}
		var keys []string
		for field := range is.config.Fields() {
			if field.IsExported() {
				keys = append(keys, field.Tag.Get("json"))
			}
		}
		slices.Sort(keys)
		if diff := cmp.Diff(keys, slices.Sorted(maps.Keys(declared.Properties))); diff != "" {
			t.Errorf("%s (-read +declared)\n%s", name, diff)
		}
	}
}
