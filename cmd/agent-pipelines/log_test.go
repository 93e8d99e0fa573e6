package main

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
)

// U229: the fields have the names that collectors of logs know; what a plugin wrote under one of them is not lost.
func TestRenamed(t *testing.T) {
	for entry, want := range map[string]string{
		`{"@level":"warn","@message":"slow","@module":"a.b","@timestamp":"t","n":3}`: `{"level":"warn","logger":"a.b","msg":"slow","n":3,"time":"t"}`,
		`{"@level":"warn","level":"mine"}`:                                           `{"@level":"warn","level":"mine"}`,
		`no JSON`:                                                                    "no JSON",
	} {
		if got := string(cli.Renamed([]byte(entry))); got != want && got != want+"\n" {
			t.Errorf("%s became %s, want %s", entry, got, want)
		}
	}
}
