package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, dir string
		state     State
		result    string
	}{
		{"there", dir, OK, dir + " can be written, "},
		{"not there yet", dir + "/a/b", OK, dir + "/a/b can be made, "},
		{"a file", file, Bad, "not a directory"},
		{"below a file", file + "/a", Bad, "not a directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Directory("project", "x", tt.dir)
			if got.State != tt.state || !strings.Contains(got.Result, tt.result) || (got.State == Bad) != (got.Do != "") {
				t.Errorf("it is %+v", got)
			}
		})
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("it left %v (%v)", left, err)
	}
}

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	for name, script := range map[string]string{"thing": "echo thing 1.2; echo more", "mute": "exit 3"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]Check{
		"thing":   {Area: "machine", Name: "thing", State: OK, Result: "1.2, " + dir + "/thing"},
		"mute":    {Area: "machine", Name: "mute", State: Note, Result: dir + "/mute -V does not print its version", Do: "run it by hand to see why"},
		"missing": {Area: "machine", Name: "missing", State: Note, Result: "not installed", Do: "install it"},
	} {
		if diff := cmp.Diff(want, Program(t.Context(), name, "-V", "install it")); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTexts(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 KiB", 5 << 10: "5 KiB", 3 << 20: "3.0 MiB", 3 << 29: "1.5 GiB", 1 << 41: "2.0 TiB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %s, want %s", n, got, want)
		}
	}
	for limit, want := range map[uint64]Check{
		64:        {State: Note, Result: "at most 64", Do: "raise the limit: ulimit -n 1024"},
		1024:      {State: OK, Result: "at most 1024"},
		1<<64 - 1: {State: OK, Result: "no limit"},
	} {
		if diff := cmp.Diff(want, openFiles(Check{State: OK}, limit)); diff != "" {
			t.Error(diff)
		}
	}
}
