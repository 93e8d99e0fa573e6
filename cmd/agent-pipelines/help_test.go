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

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
)

// A change of the help text needs a review (make golden rewrites it).
func TestHelp(t *testing.T) {
	t.Setenv("COLUMNS", "100")
	subjects := append([]string{"", "exit-codes", "environment"}, helped(newTestParser().Model.Node)...)
	for _, subject := range subjects {
		t.Run(subject, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := execute(context.Background(), strings.Fields("help "+subject), cli.Console{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }})
			require(t, code == cli.ExitDone && errs.Len() == 0, code, errs.String())
			golden(t, helpFile(subject), out.String())
		})
	}
	files, err := filepath.Glob(helpFile("*"))
	require(t, err == nil && len(files) == len(subjects), len(files), len(subjects), err)
}

func helpFile(subject string) string {
	return filepath.Join("testdata", "help", strings.ReplaceAll(cmp.Or(subject, "all"), " ", "-")+".txt")
}

// helped returns the visible verbs and subcommands, as typed.
func helped(n *kong.Node) []string {
	var all []string
	for _, child := range n.Children {
		if child.Hidden || child.Name == cli.StageCommand {
			continue
		}
		all = append(all, child.Name)
		for _, below := range helped(child) {
			all = append(all, child.Name+" "+below)
		}
	}
	return all
}

// golden compares a text with a file, or writes the file with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		check(t, os.MkdirAll(filepath.Dir(file), 0o755))
		check(t, os.WriteFile(file, []byte(got), 0o644))
	}
	compare(t, string(must(os.ReadFile(file))), got)
}

func TestUsageErrors(t *testing.T) {
	for _, tt := range []struct {
		line string
		code cli.Exit
		want string // in standard error
	}{
		{"", cli.ExitUsage, "Usage: agent-pipelines <command>"},
		{"help nonsense", cli.ExitUsage, "there is no help on 'nonsense'"},
		{"help plugins nonsense", cli.ExitUsage, "there is no help on 'plugins nonsense'"},
		{"help lint extra", cli.ExitUsage, "there is no help on 'lint extra'"},
		{"help lint extra", cli.ExitUsage, "`agent-pipelines help lint` shows all of it"},
		{"plugins install https://example.com/x.tgz", cli.ExitUsage, "curl -fLO https://example.com/x.tgz"},
		{"plugins install absent", cli.ExitUsage, "there is no file absent"},
		{"plugins new gadget x", cli.ExitUsage, "must be one of"},
		{"plugins new hook Foo", cli.ExitUsage, "lower case letters"},
		{"plugins new hook x --dir=testdata", cli.ExitUsage, "--dir names another one"},
		{"plugins new hook x --dir=testdata/new --module=a//b", cli.ExitUsage, "as in --module example.com/me/agent-plugin-x"},
		{"plugins new hook x --dir=testdata/new --sdk=testdata", cli.ExitUsage, "plugin-sdk of a checkout"},
		{"trust", cli.ExitUsage, "which directory?"},
		{"trust --list .", cli.ExitUsage, "--list takes no directory and no other flag"},
		{"loop", cli.ExitUsage, `expected "<stage>`},
		{"loop x --foregruond", cli.ExitUsage, "did you mean"},
		{"loop x s three", cli.ExitUsage, `expected a whole number but got "three"`},
		{"x s three", cli.ExitUsage, "see `agent-pipelines help loop`"},
		{"loop x s -- -1 --foreground", cli.ExitUsage, "unexpected argument"},
		{"pipeline p s two --foreground", cli.ExitUsage, `cannot run "two" times`},
		{"pipeline p s -1 --foreground", cli.ExitUsage, "unknown flag -1"},
		{"pipeline p --resume", cli.ExitUsage, "needs the session's name"},
		{"status", cli.ExitUsage, `expected "<session>"`},
		{"status s --force", cli.ExitUsage, "unknown flag --force"},
		{"config set a b --user", cli.ExitUsage, "see `agent-pipelines help config set`"},
		{"stauts s", cli.ExitConfig, "did you mean `agent-pipelines status`?"},
		{"help staart", cli.ExitUsage, "did you mean 'start'?"},
		{"help plugins lokc", cli.ExitUsage, "did you mean 'lock'?"},
		{"config shwo", cli.ExitUsage, "did you mean 'show'?"},
		{"stages lst", cli.ExitUsage, "did you mean one of \"list\""},
		{"nosuch", cli.ExitConfig, "unknown command 'nosuch'"},
		{"loop x -q -v", cli.ExitUsage, "can't be used together"},
		{"loop x --log-level=loud", cli.ExitUsage, "--log-level"},
		{"tail s -- -3", cli.ExitUsage, `expected a whole number from 0 to 4294967295 but got "-3"`},
		{"attach s --lines=-1", cli.ExitUsage, "--lines: expected a whole number from 0"},
		{"loop x --foreground --detach", cli.ExitUsage, "can't be used together"},
		{"resume s --tmux --detach", cli.ExitUsage, "can't be used together"},
		{"list --status=crushed", cli.ExitUsage, "did you mean 'crashed'?"},
		{"list --limit=-1", cli.ExitUsage, "--limit: expected a whole number from 0"},
		{"list --limit=4294967296", cli.ExitUsage, "--limit: expected a whole number from 0 to 4294967295"},
		{"crashtest x --seed=-1", cli.ExitUsage, `--seed: expected a whole number from 0 but got "-1"`},
		{"diff one", cli.ExitUsage, `expected "<other>"`},
		{"diff one two --limit=-1", cli.ExitUsage, "--limit: expected a whole number from 0"},
		{"session prune --older=soon", cli.ExitUsage, "write 30d, 2w or 36h"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := execute(context.Background(), strings.Fields(tt.line), cli.Console{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }})
			require(t, code == tt.code && strings.Contains(errs.String(), tt.want) && out.Len() == 0, code, errs.String(), out.String())
		})
	}
}
