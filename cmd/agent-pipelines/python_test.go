//go:build python

package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestPython runs testdata/python: the example plugin in Python (examples/plugin-python), with the real command.
// It needs /usr/bin/python3 with grpcio and protobuf (Debian: python3-grpcio python3-protobuf).
func TestPython(t *testing.T) {
	dir := must(filepath.Abs("../../examples/plugin-python"))
	p := scripts("testdata/python")
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("PYTHON_PLUGIN", dir)
		env.Setenv("PYTHONDONTWRITEBYTECODE", "1")
		return setUp(env)
	}
	testscript.Run(t, p)
}
