package schema

import "testing"

func TestDecode(t *testing.T) {
	s := New([]byte(`{"required":["name"],"properties":{"name":{"minLength":1},"word":{"anyOf":[{"enum":["a"]},{"type":"array","minItems":1}]}}}`))
	for raw, want := range map[string]string{
		`{"name":"x"}`:            "",
		`{"name":""}`:             "config: /name: minLength: got 0, want 1",
		`{"names":""}`:            `config: unknown key "names", did you mean "name"?`,
		`null`:                    "config: /: missing property 'name'",
		`{"name":"x","word":"b"}`: "config: /word: value must be 'a'",
		`{"name":"x","word":[]}`:  "config: /word: minItems: got 0, want 1; /word: value must be 'a'",
	} {
		err := s.Decode([]byte(raw), &struct {
			Name string `json:"name"`
			Word any    `json:"word"`
		}{})
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: got %v, want %q", raw, err, want)
		}
	}
}
