package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
)

// TestMigrating runs testdata/migrating: command lines for the Bash engine's run.sh, which examples/run.sh replaces.
func TestMigrating(t *testing.T) {
	t.Parallel()
	choice := ""
	for _, b := range fences(string(guide(t))) {
		if b.language == "bash" {
			choice = b.text()
		}
	}
	require(t, choice != "", "the guide does not say how to choose")
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/migrating",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setUpMigrating(env, choice) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": expectExit, "events": events,
		},
	})
}

// The guide docs/migrating-from-bash.md lists each exit code of the command.
func TestMigrationGuideExitCodes(t *testing.T) {
	text := string(guide(t))
	for _, e := range cli.Exits {
		require(t, regexp.MustCompile(`(?m)^\|[ 0-9,]*\b`+strconv.Itoa(int(e.Code))+`\b`).MatchString(text), e.Code)
	}
}

func guide(t *testing.T) []byte {
	t.Helper()
	text := must(os.ReadFile("../../docs/migrating-from-bash.md"))
	return text
}

// bashEngine replaces the Bash engine's run.sh and prints that it ran.
const bashEngine = "echo \"bash engine: $*\"\n"

// setUpMigrating installs the shim and the replacement of the Bash engine at all paths that scripts use.
func setUpMigrating(env *testscript.Env, choice string) error {
	shim, err := os.ReadFile("../../examples/run.sh")
	if err != nil {
		return err
	}
	files := map[string]string{
		"scripts/run.sh": string(shim), "engine/scripts/run.sh": string(shim),
		"both/scripts/run.sh": string(shim), "both/scripts/run-bash.sh": bashEngine,
		"old/scripts/run-go.sh": string(shim), "old/scripts/run.sh": "#!/usr/bin/env bash\n" + choice + bashEngine,
		"args.sh": "#!/bin/sh\nprintf '<%s>\\n' \"$@\"\n",
	}
	for name, text := range files {
		path := filepath.Join(env.WorkDir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			return err
		}
	}
	// a link to a link, each from another folder
	if err := os.MkdirAll(filepath.Join(env.WorkDir, "bin"), 0o755); err != nil {
		return err
	}
	err = errors.Join(
		os.Symlink("../run-link", filepath.Join(env.WorkDir, "bin/ap")),
		os.Symlink(filepath.Join(env.WorkDir, "engine/scripts/run.sh"), filepath.Join(env.WorkDir, "run-link")),
	)
	return errors.Join(err, setUp(env))
}
