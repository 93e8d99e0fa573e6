package completion

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
)

// Kind is the kind of thing that a word names.
type Kind string

// These are the kinds of words whose values are not part of the grammar.
const (
	None     Kind = ""
	Session  Kind = "session"
	Stage    Kind = "stage"
	Pipeline Kind = "pipeline" // or the path of a file
	Node     Kind = "node"     // of the pipeline, or of the session, before it on the line
	Question Kind = "question" // of the session before it on the line
	Provider Kind = "provider"
	Plugin   Kind = "plugin"
	Setting  Kind = "setting"
	Status   Kind = "status"
	Code     Kind = "code"
	Example  Kind = "example"
	Document Kind = "document" // of --json
	Help     Kind = "help"
	File     Kind = "file" // or a directory
)

// kinds maps the names of arguments and the placeholders of flags to kinds. The tag `complete` of a field overrides it
// with a kind, or with "-" for none.
var kinds = map[string]Kind{
	"session": Session, "stage": Stage, "pipeline": Pipeline, "question": Question, "key": Setting, "code": Code, "subject": Help,
	"plugin": Plugin, "file": File, "dir": File,
	"NODE": Node, "NODE=OUTCOME": Node, "STATUS": Status, "FILE": File, "FILE|ID": File, "PATH": File, "DIR": File,
}

// Files is the output that makes the shell complete names of files.
const Files = ":files"

// Candidate is a possible completion.
type Candidate struct {
	Value       string
	Description string // one line, "" for none
}

// Line returns the printed form of a candidate: the word and, after a tab, its description.
func (c Candidate) Line() string {
	if c.Description == "" {
		return screen.Printable(c.Value)
	}
	return screen.Printable(c.Value) + "\t" + screen.Printable(c.Description)
}

// Place describes the possible words at a place of the line.
type Place struct {
	// Candidates lists the words of the grammar that begin with the typed word.
	Candidates []Candidate
	// Kind is the kind of other names that are possible at the place.
	Kind Kind
	// Word is the part of that name typed so far, Prefix the text before it: in --status=run, "run" and "--status=".
	Word, Prefix string
	// Verb holds the verbs before the place, Args the other words except flags, in order.
	Verb, Args []string
}

// At returns the completions of the last word of a line, which lacks the command's name. A first word that is not a
// verb counts as the first argument of the verb named shorthand.
func At(root *kong.Node, shorthand string, words []string) Place {
	if len(words) == 0 {
		words = []string{""}
	}
	w := walk{root: root, node: root, shorthand: shorthand}
	for _, word := range words[:len(words)-1] {
		w.pass(word)
	}
	return w.last(words[len(words)-1])
}

// walk is the state of the walk through the words of a line.
type walk struct {
	root      *kong.Node
	shorthand string

	node    *kong.Node
	verb    []string
	args    []string
	awaited *kong.Flag // the flag whose value comes next
	dashes  bool       // "--" was passed
}

func (w *walk) pass(word string) {
	switch {
	case w.awaited != nil:
		if word != "=" { // bash passes = as a separate word
			w.awaited = nil
		}
	case w.dashes:
		w.argument(word)
	case word == "--":
		w.dashes = true
	case strings.HasPrefix(word, "-") && word != "-":
		name, _, valued := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if !valued {
			w.awaited = ValueFlag(w.root, name)
		}
	default:
		w.argument(word)
	}
}

func (w *walk) argument(word string) {
	if len(w.args) == 0 {
		if child := Command(w.node, word); child != nil {
			w.node, w.verb = child, append(w.verb, child.Name)
			return
		}
		if w.node == w.root {
			w.node, w.verb = Command(w.root, w.shorthand), []string{w.shorthand}
		}
	}
	w.args = append(w.args, word)
}

func (w *walk) last(word string) Place {
	p := Place{Word: word, Verb: w.verb, Args: w.args}
	if w.awaited != nil {
		p.Word = strings.TrimPrefix(word, "=")
		p.value(w.awaited.Value)
		return p
	}
	if !w.dashes && strings.HasPrefix(word, "-") {
		if name, value, valued := strings.Cut(word, "="); valued {
			p.Word, p.Prefix = value, name+"="
			if flag := find(w.root, strings.TrimLeft(name, "-")); flag != nil {
				p.value(flag.Value)
			}
			return p
		}
		p.offer(flags(w.node)...)
		return p
	}
	if len(w.args) == 0 {
		p.offer(commands(w.node)...)
		if w.node == w.root {
			p.Kind = Stage
		}
	}
	if i := len(w.args); i < len(w.node.Positional) {
		p.value(w.node.Positional[i])
	} else if n := len(w.node.Positional); n > 0 && w.node.Positional[n-1].IsSlice() {
		p.value(w.node.Positional[n-1])
	}
	return p
}

// value offers the possible values of a flag or an argument.
func (p *Place) value(v *kong.Value) {
	if v.Enum != "" {
		for _, word := range v.EnumSlice() {
			if word != "" {
				p.offer(Candidate{Value: word})
			}
		}
		return
	}
	name := v.Name
	if v.Flag != nil {
		name = v.Flag.PlaceHolder
	}
	p.Kind = kinds[name]
	if tag := v.Tag.Get("complete"); tag != "" {
		p.Kind = Kind(strings.TrimPrefix(tag, "-"))
	}
}

// offer adds the candidates that begin with Word.
func (p *Place) offer(all ...Candidate) {
	p.Candidates = append(p.Candidates, p.MatchingCandidates(all)...)
}

// MatchingCandidates returns the candidates that begin with Word, each with Prefix before it.
func (p *Place) MatchingCandidates(all []Candidate) []Candidate {
	var begun []Candidate
	for _, c := range all {
		if strings.HasPrefix(c.Value, p.Word) {
			begun = append(begun, Candidate{p.Prefix + c.Value, c.Description})
		}
	}
	return begun
}

// Command returns the verb with this name or alias below a node, nil for none.
func Command(n *kong.Node, name string) *kong.Node {
	for _, child := range n.Children {
		if child.Type == kong.CommandNode && (child.Name == name || slices.Contains(child.Aliases, name)) {
			return child
		}
	}
	return nil
}

func commands(n *kong.Node) []Candidate {
	var all []Candidate
	for _, child := range n.Children {
		if child.Type == kong.CommandNode && !child.Hidden && !strings.HasPrefix(child.Name, "<") {
			all = append(all, Candidate{child.Name, firstSentence(child.Help)})
		}
	}
	return all
}

// flags returns the flags of a verb and of the verbs above it, sorted by name.
func flags(n *kong.Node) []Candidate {
	var all []Candidate
	for _, group := range slices.Backward(n.AllFlags(true)) {
		for _, flag := range group {
			all = append(all, Candidate{"--" + flag.Name, firstSentence(flag.Help)})
		}
	}
	slices.SortFunc(all, func(a, b Candidate) int { return cmp.Compare(a.Value, b.Value) })
	return slices.CompactFunc(all, func(a, b Candidate) bool { return a.Value == b.Value })
}

// find returns the flag with this name in any verb, nil for none. Verbs that share a flag define it alike.
func find(n *kong.Node, name string) *kong.Flag {
	for _, flag := range n.Flags {
		if flag.Name == name || flag.Short != 0 && string(flag.Short) == name {
			return flag
		}
	}
	for _, child := range n.Children {
		if flag := find(child, name); flag != nil {
			return flag
		}
	}
	return nil
}

// ValueFlag returns the flag with this name whose value may be the next word, nil for none.
func ValueFlag(n *kong.Node, name string) *kong.Flag {
	flag := find(n, name)
	if flag == nil || flag.IsBool() || flag.IsCounter() {
		return nil
	}
	return flag
}

func firstSentence(text string) string {
	sentence, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(sentence, ".")
}

//go:embed scripts
var scripts embed.FS

// Shells lists the shells that have a [Script].
var Shells = []string{"bash", "fish", "zsh"}

// Script returns a shell's completion script. The script calls the command by its name, never by the path on the line:
// the tab key must not start a program of a repository.
func Script(shell string) (string, error) {
	if !slices.Contains(Shells, shell) {
		return "", fmt.Errorf("there is no completion for %q, only for %s", shell, strings.Join(Shells, ", "))
	}
	text, err := scripts.ReadFile("scripts/agent-pipelines." + shell)
	return string(text), err
}
