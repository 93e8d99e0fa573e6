package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
)

// U290, U291: arrange orders every form of the command line; flags may be anywhere before the first "--".
func TestArrange(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"", ""},
		{"--json", "--json"},
		{"loop refine s 3", "loop refine s 3"},
		{"--version", "version"},
		{"--version --json", "version --json"},
		{"loop --version", "loop --version"},
		{"--provider=mock loop refine", "loop --provider=mock refine"},
		{"--provider mock loop refine", "loop --provider mock refine"},
		{"--input a.md --force pipeline p s --input=b.md", "pipeline --input a.md --force p s --input=b.md"},
		{"refine s 3", "<stage> refine s 3"},
		{"--force refine s", "<stage> --force refine s"},
		{"-q refine", "<stage> -q refine"},
		{"runs 3", "runs 3"},
		{"-- loop", "<stage> -- loop"},
		{"--force -- s", "<stage> --force -- s"},
		{"loop -- --odd", "loop -- --odd"},
		{"-- --version", "<stage> -- --version"},
		{"<stage> x", "<stage> <stage> x"},
		{"--log-level debug plugins list", "plugins --log-level debug list"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			got := arrange(newParser(cli.Console{}).Model, strings.Fields(tt.line))
			compare(t, tt.want, strings.Join(got.args, " "))
		})
	}
}

func TestArrangeHelp(t *testing.T) {
	for text, want := range map[string]bool{
		"loop -h": true, "--help": true, "tail s --help": true, "loop -- --help": false, "loop --context --help": false, "loop x": false,
	} {
		got := arrange(newParser(cli.Console{}).Model, strings.Fields(text))
		require(t, got.help == want, text, got.help)
	}
}

// No flag may be a switch in one verb and take a value in another, because arrange does not know the verb yet.
func TestFlagsMeanTheSameEverywhere(t *testing.T) {
	model := newParser(cli.Console{}).Model
	isSwitch := map[string]bool{}
	var walk func(node *kong.Node)
	walk = func(node *kong.Node) {
		for _, flag := range node.Flags {
			if was, known := isSwitch[flag.Name]; known && was != flag.IsBool() {
				t.Errorf("--%s is a switch in one verb and takes a value in another", flag.Name)
			}
			isSwitch[flag.Name] = flag.IsBool()
		}
		for _, child := range node.Children {
			walk(child)
		}
	}
	walk(model.Node)
}

func FuzzArrange(f *testing.F) {
	f.Add("--provider\x00mock\x00loop\x00x\x00--\x00y")
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\x00")
		a := arrange(newParser(cli.Console{}).Model, args)
		count := map[string]int{}
		for _, arg := range args {
			count[arg]++
		}
		for _, arg := range a.args {
			count[arg]--
		}
		count[cli.StageCommand], count["version"], count["--version"] = 0, 0, 0 // words that are added or replaced
		for arg, n := range count {
			if n != 0 {
				t.Errorf("%q became %q: %q is there %d times less", args, a.args, arg, n)
			}
		}
	})
}

// The grammar of one verb parses its command lines as the whole grammar does.
func TestVerbParser(t *testing.T) {
	whole := newParser(cli.Console{}).Model
	for _, verb := range whole.Children {
		if verb.Name == cli.StageCommand {
			require(t, newVerbParser(cli.Console{}, verb.Name) == nil, verb.Name)
			continue
		}
		for _, name := range append([]string{verb.Name}, verb.Aliases...) {
			alone := newVerbParser(cli.Console{}, name)
			require(t, alone != nil && len(alone.Model.Children) == 1, name)
			require(t, slices.Equal(leaves(alone.Model.Node), leaves(&kong.Node{Children: []*kong.Node{verb}})), name)
			got, want := alone.Model.Children[0], verb
			require(t, slices.EqualFunc(slices.Concat(got.AllFlags(false)...), slices.Concat(want.AllFlags(false)...), func(a, b *kong.Flag) bool {
				return a.Name == b.Name && a.Short == b.Short && a.Default == b.Default
			}), name)
		}
	}
	for _, name := range []string{"", "no-such-verb", "--json", "Loop"} {
		require(t, newVerbParser(cli.Console{}, name) == nil, name)
	}
}
