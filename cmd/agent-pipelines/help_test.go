package main

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	gocmp "github.com/google/go-cmp/cmp"
)

// The help is what people see first: a change of it is reviewed (make golden rewrites it).
func TestHelp(t *testing.T) {
	t.Setenv("COLUMNS", "100")
	subjects := append([]string{"", "exit-codes", "environment"}, helped(newTestParser().Model.Node)...)
	for _, subject := range subjects {
		t.Run(subject, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(context.Background(), strings.Fields("help "+subject), console{stdout: &out, stderr: &errs, getenv: func(string) string { return "" }})
			if code != exitDone || errs.Len() > 0 {
				t.Fatalf("exit code %d, standard error: %s", code, errs.String())
			}
			golden(t, helpFile(subject), out.String())
		})
	}
	files, err := filepath.Glob(helpFile("*"))
	if err != nil || len(files) != len(subjects) {
		t.Errorf("%d texts of %d subjects lie in testdata/help, %v: remove those of verbs that are gone", len(files), len(subjects), err)
	}
}

func helpFile(subject string) string {
	return filepath.Join("testdata", "help", strings.ReplaceAll(cmp.Or(subject, "all"), " ", "-")+".txt")
}

// helped are the verbs that people see, with those below them, as they are typed.
func helped(n *kong.Node) []string {
	var all []string
	for _, child := range n.Children {
		if child.Hidden || child.Name == stageCommand {
			continue
		}
		all = append(all, child.Name)
		for _, below := range helped(child) {
			all = append(all, child.Name+" "+below)
		}
	}
	return all
}

// golden compares with a file, or writes it with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestUsageErrors(t *testing.T) {
	for _, tt := range []struct {
		line string
		code exit
		want string // in standard error
	}{
		{"", exitUsage, "Usage: agent-pipelines <command>"},
		{"help nonsense", exitUsage, "there is no help on 'nonsense'"},
		{"help plugins nonsense", exitUsage, "there is no help on 'plugins nonsense'"},
		{"help lint extra", exitUsage, "there is no help on 'lint extra'"},
		{"plugins install https://example.com/x.tgz", exitUsage, "curl -fLO https://example.com/x.tgz"},
		{"plugins install nowhere", exitUsage, "there is no file nowhere"},
		{"plugins new gadget x", exitUsage, "must be one of"},
		{"plugins new hook Foo", exitUsage, "lower case letters"},
		{"plugins new hook x --dir=testdata", exitUsage, "--dir names another one"},
		{"plugins new hook x --dir=testdata/new --module=a//b", exitUsage, "as in --module example.com/me/agent-plugin-x"},
		{"plugins new hook x --dir=testdata/new --sdk=testdata", exitUsage, "plugin-sdk of a checkout"},
		{"trust", exitUsage, "which directory?"},
		{"trust --list .", exitUsage, "--list stands alone"},
		{"loop", exitUsage, `expected "<stage>`},
		{"loop x --foregruond", exitUsage, "did you mean"},
		{"loop x s three", exitUsage, `expected a whole number but got "three"`},
		{"x s three", exitUsage, "see `agent-pipelines help loop`"},
		{"loop x s -- -1 --foreground", exitUsage, "unexpected argument"},
		{"pipeline p s two --foreground", exitUsage, `cannot run "two" times`},
		{"pipeline p s -1 --foreground", exitUsage, "no number here can be negative"},
		{"pipeline p --resume", exitUsage, "needs the session's name"},
		{"status", exitUsage, `expected "<session>"`},
		{"status s --force", exitUsage, "unknown flag --force"},
		{"stauts s", exitConfig, "did you mean `agent-pipelines status`?"},
		{"help staart", exitUsage, "did you mean 'start'?"},
		{"help plugins lokc", exitUsage, "did you mean 'lock'?"},
		{"config shwo", exitUsage, "did you mean 'show'?"},
		{"stages lst", exitUsage, "did you mean one of \"list\""},
		{"nosuch", exitConfig, "unknown command 'nosuch'"},
		{"loop x -q -v", exitUsage, "can't be used together"},
		{"loop x --log-level=loud", exitUsage, "--log-level"},
		{"tail s -- -3", exitUsage, "cannot be negative"},
		{"attach s --lines=-1", exitUsage, "cannot be negative"},
		{"loop x --foreground --detach", exitUsage, "contradict each other"},
		{"resume s --tmux --detach", exitUsage, "contradict each other"},
		{"list --status=crushed", exitUsage, "did you mean 'crashed'?"},
		{"list --limit=-1", exitUsage, "fewer than no sessions"},
		{"diff one", exitUsage, `expected "<other>"`},
		{"diff one two --limit=-1", exitUsage, "give --limit a number from 0"},
		{"session prune --older=soon", exitUsage, "write 30d, 2w or 36h"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(context.Background(), strings.Fields(tt.line), console{stdout: &out, stderr: &errs, getenv: func(string) string { return "" }})
			if code != tt.code || !strings.Contains(errs.String(), tt.want) || out.Len() > 0 {
				t.Errorf("exit code %d, want %d and %q; standard error:\n%s\nstandard output:\n%s", code, tt.code, tt.want, errs.String(), out.String())
			}
		})
	}
}
