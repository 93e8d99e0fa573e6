package cli

import (
	"testing"
)

// U229: the fields have the names that log collectors know; a plugin's own field with one of these names is kept.
func TestRenamed(t *testing.T) {
	for entry, want := range map[string]string{
		`{"@level":"warn","@message":"slow","@module":"a.b","@timestamp":"t","n":3}`: `{"level":"warn","logger":"a.b","msg":"slow","n":3,"time":"t"}`,
		`{"@level":"warn","level":"mine"}`:                                           `{"@level":"warn","level":"mine"}`,
		`no JSON`:                                                                    "no JSON",
	} {
		if got := string(renameFields([]byte(entry))); got != want && got != want+"\n" {
			t.Errorf("%s became %s, want %s", entry, got, want)
		}
	}
}
