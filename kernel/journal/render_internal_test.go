package journal

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// FuzzResultFile adds the path for readers of the Bash engine's journals to any data: the rest stays
// unchanged, data without an object too, and a second time adds nothing.
func FuzzResultFile(f *testing.F) {
	for _, seed := range []string{
		`{"decision":"stop","result":{"path":"stage-00-a/iterations/001/result.json","sha256":"","size":2}}`, `{"result":{"path":"x"},"result_file":"/y"}`,
		`{"result":{"path":"x"},"result_file":""}`, `{"result":{"path":"x"},"result_file":null}`, `{"a":{"b":[1,2.50,1e3]},"result":{"path":"ü\u0000"},"a":1}`, "null", "[]", "3", "", `{"result":3}`,
	} {
		f.Add([]byte(seed))
	}
	p := must(store.OpenProject(f.TempDir()))
	f.Cleanup(func() { _ = p.Close() })
	d := must(p.Create("s"))
	f.Cleanup(func() { _ = d.Close() })
	j := &Journal{dir: d}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		added := j.withResultFile(data)
		if !json.Valid(added) {
			t.Fatalf("%s became %s, which is no JSON", data, added)
		}
		if diff := cmp.Diff(string(added), string(j.withResultFile(added))); diff != "" {
			t.Fatalf("a second time (-first +second):\n%s", diff)
		}
		var before, after map[string]json.RawMessage
		if json.Unmarshal(data, &before) != nil || bytes.Equal(added, data) {
			return
		}
		if err := json.Unmarshal(added, &after); err != nil {
			t.Fatal(err)
		}
		delete(before, "result_file")
		delete(after, "result_file")
		if diff := cmp.Diff(writePlain(t, before), writePlain(t, after)); diff != "" {
			t.Errorf("more has changed:\n%s", diff)
		}
	})
}

func writePlain(t *testing.T, v map[string]json.RawMessage) string {
	t.Helper()
	text := must(json.Marshal(v))
	return string(text)
}
