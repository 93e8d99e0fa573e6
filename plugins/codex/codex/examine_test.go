package codex

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// What doctor is told: the version, and whether there is a login.
func TestExamine(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "codex"), []byte("#!/bin/sh\necho ${VERSION:-999.1}\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		env  []string
		want sdk.FindingState // of the login
	}{
		"a key":    {[]string{"OPENAI_API_KEY=x"}, sdk.FindingOK},
		"no login": {nil, sdk.FindingUnclear},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(func() []string { return append([]string{"PATH=" + dir + ":/usr/bin:/bin", "HOME=" + dir}, tt.env...) })
			findings, err := p.Examine(t.Context(), sdk.ValidateRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(findings, func(f sdk.Finding) bool { return f.About == "version" && f.State == sdk.FindingOK }) ||
				!slices.ContainsFunc(findings, func(f sdk.Finding) bool { return f.About == "login" && f.State == tt.want }) {
				t.Errorf("found %+v", findings)
			}
		})
	}
	old := New(func() []string { return []string{"PATH=" + dir + ":/usr/bin:/bin", "HOME=" + dir, "VERSION=0.1.2"} })
	findings, err := old.Examine(t.Context(), sdk.ValidateRequest{})
	if err != nil || findings[0].State != sdk.FindingUnclear || !strings.HasSuffix(findings[0].Detail, ": older than the tested version "+measured.Version) {
		t.Errorf("of an older release: %+v, %v", findings, err)
	}
	if _, err := New(func() []string { return nil }).Examine(t.Context(), sdk.ValidateRequest{}); err == nil {
		t.Error("a program that is not there was found")
	}
}
