package completion_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/completion"
)

// grammar is a small grammar with every feature of a command line.
type grammar struct {
	Quiet bool   `short:"q" help:"Say nothing. Not even this."`
	Level string `enum:"low,high," default:"" placeholder:"LEVEL" help:"How much."`
	Word  struct {
		Stage   string `arg:"" help:"The stage."`
		Session string `arg:"" optional:"" help:"The session."`
	} `cmd:"" name:"<stage>" help:"Run a stage."`
	Run struct {
		Pipeline string   `arg:"" help:"The pipeline."`
		Output   string   `short:"o" placeholder:"FILE" help:"Where to."`
		Start    string   `placeholder:"NODE" help:"Begin here."`
		Author   string   `name:"who" placeholder:"NAME" complete:"provider" help:"Who."`
		Depth    int      `placeholder:"N" help:"How deep."`
		Hidden   bool     `hidden:"" help:"For programs."`
		Rest     []string `arg:"" optional:"" name:"session" help:"Sessions."`
	} `cmd:"" help:"Run a pipeline. At once."`
	Set struct {
		New struct {
			Name string `arg:"" help:"Its name."`
		} `cmd:"" help:"Make one."`
		Old struct{} `cmd:"" help:"Forget one."`
	} `cmd:"" aliases:"put" help:"Sets."`
	Inner struct{} `cmd:"" hidden:"" help:"For programs."`
}

func at(words ...string) completion.Place {
	return completion.At(kong.Must(&grammar{}, kong.NoDefaultHelp()).Model.Node, "<stage>", words)
}

// A11: the words before a place determine its completions.
func TestAt(t *testing.T) {
	for _, tt := range []struct {
		line   string // its last word is the one to complete
		values string
		kind   completion.Kind
	}{
		{"", "run set", completion.Stage},
		{"r", "run", completion.Stage},
		{"in", "", completion.Stage},
		{"run ", "", completion.Pipeline},
		{"-q run ", "", completion.Pipeline},
		{"--level low run p ", "", completion.Session},
		{"run p s1 s2 ", "", completion.Session},
		{"run --", "--depth --level --output --quiet --start --who", completion.None},
		{"--", "--level --quiet", completion.None},
		{"run --level ", "low high", completion.None},
		{"run --level=h", "--level=high", completion.None},
		{"run --level =", "low high", completion.None},
		{"run --level = h", "high", completion.None},
		{"run p --output ", "", completion.File},
		{"run p -o ", "", completion.File},
		{"run p --start ", "", completion.Node},
		{"run p --who ", "", completion.Provider},
		{"run p --depth ", "", completion.None},
		{"run p --depth 3 ", "", completion.Session},
		{"run p --nonsense=", "", completion.None},
		{"run -- ", "", completion.Pipeline},
		{"run -- --", "", completion.Pipeline},
		{"set ", "new old", completion.None},
		{"put n", "new", completion.None},
		{"set new ", "", completion.None},
		{"polish ", "", completion.Session},
		{"polish s ", "", completion.None},
	} {
		words := strings.Split(tt.line, " ")
		got := at(words...)
		var values []string
		for _, c := range got.Candidates {
			values = append(values, c.Value)
		}
		if strings.Join(values, " ") != tt.values || got.Kind != tt.kind {
			t.Errorf("%q: %v, kind %q; want %q, %q", tt.line, values, got.Kind, tt.values, tt.kind)
		}
	}
}

func TestPlaceIncludesEarlierArguments(t *testing.T) {
	got := at("run", "--depth", "3", "build", "--start=te")
	got.Candidates = nil
	want := completion.Place{Kind: completion.Node, Word: "te", Prefix: "--start=", Verb: []string{"run"}, Args: []string{"build"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	begun := got.MatchingCandidates([]completion.Candidate{{Value: "test", Description: "tests"}, {Value: "build"}})
	if diff := cmp.Diff([]completion.Candidate{{Value: "--start=test", Description: "tests"}}, begun); diff != "" {
		t.Error(diff)
	}
}

func TestLine(t *testing.T) {
	for want, c := range map[string]completion.Candidate{
		"a":            {Value: "a"},
		"a\tb c":       {Value: "a", Description: "b\nc"},
		"a b\tc [31m.": {Value: "a\tb", Description: "c\x1b[31m."},
	} {
		if got := c.Line(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestScripts(t *testing.T) {
	for _, shell := range completion.Shells {
		if text, err := completion.Script(shell); err != nil || !strings.Contains(text, "agent-pipelines __complete -- ") {
			t.Errorf("%s: %v\n%s", shell, err, text)
		}
	}
	if _, err := completion.Script("csh"); err == nil {
		t.Error("csh: no error")
	}
}

// On every line, candidates begin with the last word.
func FuzzAt(f *testing.F) {
	root := kong.Must(&grammar{}, kong.NoDefaultHelp()).Model.Node
	for _, line := range []string{"", "run --level=", "set put", "-- --", "--level", "run --level = =", "- -q=", "polish x y z --o"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		last := words[len(words)-1]
		p := completion.At(root, "<stage>", words)
		for _, c := range p.Candidates {
			if !strings.HasPrefix(c.Value, strings.TrimPrefix(last, "=")) {
				t.Errorf("%q offers %q", line, c.Value)
			}
		}
		if p.Prefix != "" && !slices.Contains(words, p.Prefix+p.Word) {
			t.Errorf("%q: %q and %q are not its last word", line, p.Prefix, p.Word)
		}
	})
}
