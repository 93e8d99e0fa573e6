package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// Config are the keys of a hook with action check. Which of them may be there depends on Type.
type Config struct {
	// Type is one of the types below; required. file_exists is file, file_content is content.
	Type string `json:"type"`
	// Path names files below the project, with the wildcards of [path.Match]. For file and content.
	Path string `json:"path"`
	// Exists says whether there is to be such a file. Default true. For file.
	Exists *bool `json:"exists"`
	// Contains is a text that one of the files has to hold, Matches a regular expression (RE2) that has
	// to match somewhere in one; one of the two. For content.
	Contains string `json:"contains"`
	Matches  string `json:"matches"`
	// Command is a text that sh -c runs. For command and tests. Run is another word for it.
	Command string `json:"command"`
	Run     string `json:"run"`
	// Files are paths below the project, with slashes, that the command gets as further arguments: where it says "$@",
	// else at its end. They are never part of the text. For command and tests.
	Files []string `json:"files"`
	// Expect is what is to come of it. Default exit_zero for command, all_pass for tests, of which exit_zero counts what
	// can be counted and is content where that is nothing.
	Expect Expectation `json:"expect"`
	// Format is how the command reports its tests on stdout. Default auto. For tests.
	Format string `json:"format"`

	pattern *regexp.Regexp // of Matches
}

// The types of checks.
const (
	typeFile    = "file"
	typeContent = "content"
	typeCommand = "command"
	typeTests   = "tests"
)

// typeAliases are further words for types.
var typeAliases = map[string]string{"file_exists": typeFile, "file_content": typeContent}

// Expectation is the word of an expect, or the most warnings that a command may have.
type Expectation struct {
	Word        string
	MaxWarnings *int
}

// The words of an expectation.
const (
	expectExitZero = "exit_zero"
	expectAllPass  = "all_pass"
	expectNonePass = "none_pass"
)

// UnmarshalJSON implements [json.Unmarshaler]: a word, or an object with max_warnings.
func (e *Expectation) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &e.Word) == nil {
		return nil
	}
	var object struct {
		MaxWarnings *int `json:"max_warnings"`
	}
	if err := config.Decode(raw, &object); err != nil {
		return failure.New(failure.ConfigInvalid, "check: expect: %w", err).WithHint("expect is a word, or {max_warnings: n}")
	}
	if object.MaxWarnings == nil || *object.MaxWarnings < 0 {
		return failure.New(failure.ConfigInvalid, "check: expect: max_warnings is a whole number, at least 0")
	}
	e.MaxWarnings = object.MaxWarnings
	return nil
}

// typeKeys are the keys that each type may have beside type itself, the needed ones first.
var typeKeys = map[string]struct{ needed, others []string }{
	typeFile:    {[]string{"path"}, []string{"exists"}},
	typeContent: {[]string{"path"}, []string{"contains", "matches"}},
	typeCommand: {[]string{"command"}, []string{"run", "files", "expect"}},
	typeTests:   {[]string{"command"}, []string{"run", "files", "expect", "format"}},
}

var types = []string{typeCommand, typeContent, typeFile, typeTests, "file_exists", "file_content"}

// readConfig reads and checks a configuration. Errors are of kind config_invalid.
func readConfig(raw json.RawMessage) (Config, error) {
	var c Config
	if err := config.Decode(raw, &c); err != nil {
		return Config{}, err
	}
	for _, check := range []func() error{c.checkType, func() error { return c.checkPresence(raw) }, c.checkPath, c.checkCommand, c.checkFiles, c.checkContent, c.checkExpect, c.checkFormat} {
		if err := check(); err != nil {
			return Config{}, err
		}
	}
	return c, nil
}

func invalid(format string, args ...any) *failure.Error {
	return failure.New(failure.ConfigInvalid, "check: "+format, args...)
}

// checkWord is nil for a word of a list. Others are told the nearest.
func checkWord(key, word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	said := fmt.Sprintf("%s %q is none", key, word)
	if word == "" {
		said = key + " is missing"
	}
	if near := nearest.Name(word, words); near != "" {
		said += fmt.Sprintf(", did you mean %q?", near)
	}
	return invalid("%s", said).WithHint("%s is one of %s", key, strings.Join(words, ", "))
}

func (c *Config) checkType() error {
	err := checkWord("type", c.Type, types)
	if alias, ok := typeAliases[c.Type]; ok {
		c.Type = alias
	}
	return err
}

// checkPresence holds the keys that were written against those of the type.
func (c *Config) checkPresence(raw json.RawMessage) error {
	var written map[string]json.RawMessage
	if err := json.Unmarshal(raw, &written); err != nil {
		return invalid("%w", err)
	}
	keys := typeKeys[c.Type]
	if _, ok := written["run"]; ok && slices.Contains(keys.needed, "command") {
		if _, both := written["command"]; both {
			return invalid("run and command are the same: write one of them")
		}
		written["command"] = written["run"]
	}
	for _, key := range keys.needed {
		if _, ok := written[key]; !ok {
			return invalid("%s is missing: a check of type %s needs it", key, c.Type)
		}
	}
	known := slices.Concat([]string{"type"}, keys.needed, keys.others)
	for _, key := range slices.Sorted(maps.Keys(written)) {
		if !slices.Contains(known, key) {
			return invalid("a check of type %s has no %s", c.Type, key).WithHint("it has %s", strings.Join(known, ", "))
		}
	}
	return nil
}

func (c *Config) checkPath() error {
	if c.Type != typeFile && c.Type != typeContent {
		return nil
	}
	if c.Path == "" {
		return invalid("path names nothing")
	}
	c.Path = path.Clean(c.Path)
	_, err := path.Match(c.Path, "")
	switch {
	case err != nil:
		return invalid("path %q: %w", c.Path, err).WithHint("wildcards are *, ? and [a-z]; a backslash takes a character as it is")
	case strings.Contains(c.Path, "**"):
		return invalid("path %q: ** is not known", c.Path).WithHint("* matches within one directory; write one * for each, as in src/*/*.go")
	case path.IsAbs(c.Path) || c.Path == ".." || strings.HasPrefix(c.Path, "../"):
		return invalid("path %q leads out of the project", c.Path).WithHint("write it from the project's directory on")
	}
	return nil
}

func (c *Config) checkCommand() error {
	if c.Type != typeCommand && c.Type != typeTests {
		return nil
	}
	c.Command = cmp.Or(c.Command, c.Run)
	if c.Command == "" || strings.ContainsRune(c.Command, 0) {
		return invalid("command is no text for a shell")
	}
	return nil
}

func (c *Config) checkContent() error {
	if c.Type != typeContent {
		return nil
	}
	if (c.Contains == "") == (c.Matches == "") {
		return invalid("a check of type content has either contains or matches").WithHint("contains: is a text, matches: a regular expression")
	}
	if c.Matches == "" {
		return nil
	}
	var err error
	if c.pattern, err = regexp.Compile(c.Matches); err != nil {
		return invalid("matches: %w", err).WithHint("the syntax is that of RE2; (?m) lets ^ and $ match at lines")
	}
	return nil
}

func (c *Config) checkExpect() error {
	words, otherwise := []string{expectExitZero}, expectExitZero
	switch c.Type {
	case typeCommand:
		if c.Expect.MaxWarnings != nil {
			return nil
		}
	case typeTests:
		words, otherwise = []string{expectAllPass, expectNonePass, expectExitZero}, expectAllPass
		if c.Expect.MaxWarnings != nil {
			return invalid("max_warnings is for checks of type command").WithHint("expect is one of %s", strings.Join(words, ", "))
		}
	default:
		return nil
	}
	if c.Expect.Word == "" {
		c.Expect.Word = otherwise
	}
	return checkWord("expect", c.Expect.Word, words)
}

func (c *Config) checkFormat() error {
	if c.Type != typeTests {
		return nil
	}
	if c.Format == "" {
		c.Format = formatAuto
	}
	return checkWord("format", c.Format, formatNames())
}
