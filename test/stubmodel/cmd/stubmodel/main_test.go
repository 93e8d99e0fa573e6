package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/test/stubmodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLoad(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	server := stubmodel.Start(t)
	for value, want := range map[string]string{
		"name": "no such file", "a=" + bad + ".none": "no such file", "a=" + bad: `script "a": script: turns: at least one is needed`,
	} {
		if err := load(server, value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", value, err, want)
		}
	}
	if err := load(server, "w="+filepath.Join("..", "..", "testdata", "write.script.json")); err != nil {
		t.Error(err)
	}
}
