package imports_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/dodo-digital/agent-pipelines/tools/imports"
	"github.com/google/go-cmp/cmp"
)

// tree is a small workspace: contents by path. Import paths of this repository begin with "~".
type tree map[string]string

func (tr tree) fs() fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range tr {
		out[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(text, `"~`, `"`+imports.Prefix))}
	}
	return out
}

func load(t *testing.T, tr tree) []imports.File {
	t.Helper()
	files, err := imports.Load(tr.fs())
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// places returns each violation without its reason. A violation without a reason is a fault.
func places(t *testing.T, violations []imports.Violation) []string {
	t.Helper()
	var out []string
	for _, v := range violations {
		if v.Reason == "" {
			t.Errorf("%s: %s: no reason given", v.Place, v.Construct)
		}
		out = append(out, v.Place+": "+v.Construct)
	}
	return out
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name string
		file string
		text string
		want []string
	}{
		{"a noun may import a lower noun", "kernel/state/x.go", `package state; import _ "~kernel/event"`, nil},
		{"a noun may not import a higher noun", "kernel/event/x.go", `package event; import _ "~kernel/state"`, []string{"kernel/event/x.go: imports kernel/state"}},
		{"YAML has one reader", "kernel/compile/x.go", `package compile; import _ "gopkg.in/yaml.v3"`, []string{"kernel/compile/x.go: imports gopkg.in/yaml.v3"}},
		{"YAML has one writer", "engine/internal/inputs/x.go", `package inputs; import _ "gopkg.in/yaml.v3"`, []string{"engine/internal/inputs/x.go: imports gopkg.in/yaml.v3"}},
		{"a noun touches no files", "kernel/plan/x.go", `package plan; import _ "os"`, []string{"kernel/plan/x.go: imports os"}},
		{"a noun starts no process", "kernel/plan/x.go", `package plan; import _ "os/exec"`, []string{"kernel/plan/x.go: imports os/exec"}},
		{"a noun's test may read golden files", "kernel/plan/x_test.go", `package plan; import _ "os"; import _ "github.com/google/go-cmp/cmp"`, nil},
		{"a noun's test inspects its own package", "kernel/plan/x_test.go", `package plan_test; import _ "~kernel/plan"`, nil},
		{"a noun's test does not look up", "kernel/plan/x_test.go", `package plan; import _ "~kernel/journal"`, []string{"kernel/plan/x_test.go: imports kernel/journal"}},
		{"a noun takes failure from the sdk", "kernel/plan/x.go", `package plan; import _ "~plugin-sdk/failure"`, nil},
		{"a noun takes nothing else from the sdk", "kernel/plan/x.go", `package plan; import _ "~plugin-sdk"`, []string{"kernel/plan/x.go: imports plugin-sdk"}},
		{"the kernel does not import the engine", "kernel/x.go", `package kernel; import _ "~engine/internal/attempt"`, []string{"kernel/x.go: imports engine/internal/attempt"}},
		{"the kernel imports its packages", "kernel/x.go", `package kernel; import _ "~kernel/journal"`, nil},
		{"a package of the engine does not import the engine", "engine/internal/attempt/x.go", `package attempt; import _ "~engine"`, []string{"engine/internal/attempt/x.go: imports engine"}},
		{"a package of the engine imports the kernel", "engine/internal/attempt/x.go", `package attempt; import _ "~kernel/journal"`, nil},
		{"one package calls plugins", "kernel/pluginhost/x.go", `package pluginhost; import _ "github.com/hashicorp/go-plugin"`, nil},
		{"the other packages do not", "kernel/x.go", `package kernel; import _ "github.com/hashicorp/go-plugin"`, []string{"kernel/x.go: imports github.com/hashicorp/go-plugin"}},
		{"tests of pipelines use the public engine", "engine/enginetest/x.go", `package enginetest; import (_ "~engine"; _ "~kernel/event"; _ "~plugin-sdk")`, nil},
		{"tests of pipelines use no inner package", "engine/enginetest/x.go", `package enginetest; import _ "~kernel/journal"`, []string{"engine/enginetest/x.go: imports kernel/journal"}},
		{"the kernel knows no plugin", "kernel/x.go", `package kernel; import _ "~plugins/x"`, []string{"kernel/x.go: imports plugins/x"}},
		{"the contracts are plain Go", "plugin-sdk/x.go", `package sdk; import _ "google.golang.org/grpc"`, []string{"plugin-sdk/x.go: imports google.golang.org/grpc"}},
		{"the sdk speaks gRPC", "plugin-sdk/serve/x.go", `package serve; import _ "google.golang.org/grpc/codes"`, nil},
		{"the sdk does not know the kernel", "plugin-sdk/serve/x.go", `package serve; import _ "~kernel/plan"`, []string{"plugin-sdk/serve/x.go: imports kernel/plan"}},
		{"a plugin imports the sdk and itself", "plugins/x/x.go", `package main; import (_ "~plugin-sdk/serve"; _ "~plugins/x/parse")`, nil},
		{"a plugin does not import another", "plugins/x/parse/x.go", `package parse; import _ "~plugins/y"`, []string{"plugins/x/parse/x.go: imports plugins/y"}},
		{"a plugin does not import the kernel", "plugins/x/x.go", `package main; import _ "~kernel/plan"`, []string{"plugins/x/x.go: imports kernel/plan"}},
		{"one file of the command serves plugins", "cmd/agent-pipelines/bundled.go", `package main; import _ "~plugins/x"`, nil},
		{"the rest of the command knows none", "cmd/agent-pipelines/main.go", `package main; import _ "~plugins/x"`, []string{"cmd/agent-pipelines/main.go: imports plugins/x"}},
		{"a new package needs a rule", "attic/x.go", `package attic`, []string{"attic/x.go: has no rule"}},
		{"one package of the command uses the screen", "cmd/agent-pipelines/x.go", `package main; import _ "charm.land/bubbletea/v2"`, []string{"cmd/agent-pipelines/x.go: imports charm.land/bubbletea/v2"}},
		{"one plugin speaks to agents by their protocol", "plugins/x/x.go", `package main; import _ "github.com/coder/acp-go-sdk"`, []string{"plugins/x/x.go: imports github.com/coder/acp-go-sdk"}},
		{"build tags hide nothing", "kernel/plan/x_darwin.go", "//go:build darwin\n\npackage plan; import _ \"net\"", []string{"kernel/plan/x_darwin.go: imports net"}},
		{"testdata is not ours to judge", "kernel/plan/testdata/x.go", `package plan; import _ "net"`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := places(t, imports.Check(load(t, tree{tt.file: tt.text}), imports.Rules))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckPlaces(t *testing.T) {
	// Joined from two parts, because the check of the real workspace would find it in this file.
	foreign := "/home" + "/jdoe"
	root := fstest.MapFS{
		"a.md":         {Data: []byte("fine\nsee /srv/checkout/main/kernel\n")},
		"b.go":         {Data: []byte("// " + foreign + "/x\n")},
		"c.txt":        {Data: []byte("/home/user/project and /tmp; $WORK/home/x and ${DIR}/home/y are none\n")},
		"binary":       {Data: []byte("\x00" + foreign)},
		".git/config":  {Data: []byte(foreign)},
		"bin/anything": {Data: []byte(foreign)},
	}
	got, err := imports.CheckPlaces(root, "/srv/checkout/main", "/tmp")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.md:2: names /srv/checkout/main", "b.go:1: names " + foreign}
	if diff := cmp.Diff(want, places(t, got)); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

func TestLoadReportsUnreadableFiles(t *testing.T) {
	if files, err := imports.Load(fstest.MapFS{"a/x.go": {Data: []byte("packag a")}}); err == nil {
		t.Errorf("loaded %d files, want an error", len(files))
	}
}
