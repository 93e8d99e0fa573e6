package clitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.golden")
	if err := compare(file, attempt{}, false); !os.IsNotExist(err) {
		t.Errorf("no golden file: %v", err)
	}
	if err := compare(file, attempt{Output: "old"}, true); err != nil {
		t.Fatal(err)
	}
	if err := compare(file, attempt{Output: "old"}, false); err != nil {
		t.Error(err)
	}
	if err := compare(file, attempt{Output: "new"}, false); err == nil || !strings.Contains(err.Error(), `"new"`) {
		t.Errorf("a difference: %v", err)
	}
}
