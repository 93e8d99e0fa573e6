package schema

import "testing"

func TestDecode(t *testing.T) {
	s := New([]byte(`{"required":["name"],"properties":{"name":{"minLength":1}}}`))
	for raw, want := range map[string]string{
		`{"name":"x"}`: "",
		`{"name":""}`:  "config: /name: minLength: got 0, want 1",
		`{"names":""}`: `config: unknown key "names", did you mean "name"?`,
		`null`:         "config: /: missing property 'name'",
	} {
		err := s.Decode([]byte(raw), &struct {
			Name string `json:"name"`
		}{})
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: got %v, want %q", raw, err, want)
		}
	}
}
