package cliagent

import (
	"os"
	"path/filepath"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

func TestLogin(t *testing.T) {
	home := t.TempDir()
	for name, text := range map[string]string{"auth.json": "{}", "empty.json": ""} {
		check(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
	unclear := sdk.Finding{About: "login", State: sdk.FindingUnclear, Detail: "no key in the environment and no login in a file", Hint: "log in"}
	for _, tt := range []struct {
		name string
		env  []string
		l    Login
		want sdk.Finding
	}{
		{"a variable", []string{"KEY=x"}, Login{Variables: []string{"OTHER", "KEY"}}, sdk.Finding{About: "login", State: sdk.FindingOK, Detail: "KEY is set"}},
		{"an empty variable", []string{"KEY="}, Login{Variables: []string{"KEY"}, Hint: "log in"}, unclear},
		{"a file at home", []string{"HOME=" + home}, Login{Files: []string{"~/auth.json"}}, sdk.Finding{About: "login", State: sdk.FindingOK, Detail: "found in ~/auth.json"}},
		{"a file by a variable", []string{"DIR=" + home}, Login{Files: []string{"~/auth.json", "${DIR}/auth.json"}}, sdk.Finding{About: "login", State: sdk.FindingOK, Detail: "found in ${DIR}/auth.json"}},
		{"an empty file", []string{"HOME=" + home}, Login{Files: []string{"~/empty.json"}, Hint: "log in"}, unclear},
		{"no home", nil, Login{Files: []string{"~/auth.json", "${DIR}/auth.json"}, Hint: "log in"}, unclear},
	} {
		t.Run(tt.name, func(t *testing.T) {
			compare(t, tt.want, tt.l.Diagnose(tt.env))
		})
	}
}

// The finding reports the version that a program prints. A program that prints no version is bad.
func TestDiagnoseVersion(t *testing.T) {
	dir := t.TempDir()
	for name, script := range map[string]string{"good": "echo 1.2.3", "old": "echo 1.2.2", "mute": "exit 3"} {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	var v Versions
	for name, want := range map[string]sdk.Finding{
		"good": {About: "version", State: sdk.FindingOK, Detail: "1.2.3, " + dir + "/good"},
		"old": {
			About: "version", State: sdk.FindingUnclear, Detail: "1.2.2, " + dir + "/old: older than the tested version 1.2.3",
			Hint: "it may work; update it with: get a new one",
		},
		"mute": {
			About: "version", State: sdk.FindingBad, Detail: dir + "/mute --version prints no version",
			Hint: "run it by hand to see why; it may be half installed, or another program of the same name",
		},
	} {
		compare(t, want, v.Diagnose(t.Context(), Command{Name: name, Path: filepath.Join(dir, name), Dir: dir, Env: os.Environ()}, TestedVersion{"1.2.3", "get a new one"}))
	}
}
