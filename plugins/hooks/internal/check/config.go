package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// Config holds the keys of a hook with action check. Type decides which of them are allowed.
type Config struct {
	// Type is one of the types below. Required. file_exists is an alias of file, file_content of content.
	Type string `json:"type"`
	// Path matches files below the project, with the wildcards of [path.Match]. For file and content.
	Path string `json:"path"`
	// Exists is true if a matching file must exist, false if none may. Default true. For file.
	Exists *bool `json:"exists"`
	// Contains is a text, Matches a regular expression (RE2) that one of the files must contain; exactly one of Contains
	// and Matches is set. For content.
	Contains string `json:"contains"`
	Matches  string `json:"matches"`
	// Command is a text that sh -c runs; Run is an alias. For command and tests.
	Command string `json:"command"`
	Run     string `json:"run"`
	// Files are paths below the project, with slashes. The command receives them as arguments at "$@", else at its
	// end; they never become part of the text. In a check of tests, go test without "$@" runs on packages instead, and only
	// the tests of the files count. For command and tests.
	Files []string `json:"files"`
	// Expect is the expected result. Default exit_zero for command, all_pass for tests. For tests, exit_zero counts the
	// tests if there is a report, and accepts a run without a report.
	Expect Expectation `json:"expect"`
	// Format is the format of the test report on stdout. Default auto. For tests.
	Format string `json:"format"`
	// Report matches files below the project to which the command writes its test report, with the wildcards of [path.Match]
	// and ** for any directories; stdout is then not read. For tests.
	Report string `json:"report"`
	// Names adds the status of all tests to the facts, and makes known runners print all names. For tests.
	Names bool `json:"names"`
	// Isolated says that the directory is a copy: runners look for neither code nor settings elsewhere. For tests.
	Isolated bool `json:"isolated"`

	pattern *regexp.Regexp // of Matches
}

// The types of checks.
const (
	typeFile    = "file"
	typeContent = "content"
	typeCommand = "command"
	typeTests   = "tests"
)

// typeAliases are the alternative names of types.
var typeAliases = map[string]string{"file_exists": typeFile, "file_content": typeContent}

// Expectation is a word, or the maximum number of warnings of a command.
type Expectation struct {
	Word        string
	MaxWarnings *int
}

// The values of an expectation.
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
		return failure.New(failure.ConfigInvalid, "check: expect: %w", err).WithHint("set expect to a word, or to {max_warnings: n}")
	}
	if object.MaxWarnings == nil || *object.MaxWarnings < 0 {
		return failure.New(failure.ConfigInvalid, "check: expect: max_warnings is a whole number, at least 0")
	}
	e.MaxWarnings = object.MaxWarnings
	return nil
}

// typeKeys are the keys that each type allows in addition to type itself, the required keys first.
var typeKeys = map[string]struct{ required, optional []string }{
	typeFile:    {[]string{"path"}, []string{"exists"}},
	typeContent: {[]string{"path"}, []string{"contains", "matches"}},
	typeCommand: {[]string{"command"}, []string{"run", "files", "expect"}},
	typeTests:   {[]string{"command"}, []string{"run", "files", "expect", "format", "report", "names", "isolated"}},
}

var types = []string{typeCommand, typeContent, typeFile, typeTests, "file_exists", "file_content"}

// readConfig decodes and checks a configuration. Errors are of kind config_invalid.
func readConfig(raw json.RawMessage) (Config, error) {
	var c Config
	if err := config.Decode(raw, &c); err != nil {
		return Config{}, err
	}
	err := c.checkType()
	if err == nil {
		err = c.checkKeys(raw)
	}
	if err != nil {
		return Config{}, err
	}
	switch c.Type {
	case typeFile:
		err = c.checkPath()
	case typeContent:
		err = cmp.Or(c.checkPath(), c.checkContent())
	case typeCommand:
		err = cmp.Or(c.checkCommand(), c.checkFiles(), c.checkExpect(expectExitZero))
	case typeTests:
		c.Format = cmp.Or(c.Format, formatAuto)
		err = cmp.Or(c.checkCommand(), c.checkFiles(), c.checkExpect(expectAllPass, expectNonePass, expectExitZero), checkWord("format", c.Format, formatNames()))
		if err == nil && c.Report != "" {
			err = checkPattern("report", &c.Report)
		}
	}
	return c, err
}

func invalid(format string, args ...any) *failure.Error {
	return failure.New(failure.ConfigInvalid, "check: "+format, args...)
}

// checkWord returns an error, with the nearest word, unless the word is in the list.
func checkWord(key, word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	message := fmt.Sprintf("%s %q is unknown", key, word)
	if word == "" {
		message = key + " is missing"
	}
	if near := nearest.Name(word, words); near != "" {
		message += fmt.Sprintf(", did you mean %q?", near)
	}
	return invalid("%s", message).WithHint("%s is one of %s", key, strings.Join(words, ", "))
}

func (c *Config) checkType() error {
	err := checkWord("type", c.Type, types)
	if alias, ok := typeAliases[c.Type]; ok {
		c.Type = alias
	}
	return err
}

// checkKeys checks the written keys against the keys of the type.
func (c *Config) checkKeys(raw json.RawMessage) error {
	var written map[string]json.RawMessage
	if err := json.Unmarshal(raw, &written); err != nil {
		return invalid("%w", err)
	}
	keys := typeKeys[c.Type]
	if _, ok := written["run"]; ok && slices.Contains(keys.required, "command") {
		if _, both := written["command"]; both {
			return invalid("run and command are the same: write one of them")
		}
		written["command"] = written["run"]
	}
	for _, key := range keys.required {
		if _, ok := written[key]; !ok {
			return invalid("%s is missing: a check of type %s requires it", key, c.Type)
		}
	}
	known := slices.Concat([]string{"type"}, keys.required, keys.optional)
	for _, key := range slices.Sorted(maps.Keys(written)) {
		if !slices.Contains(known, key) {
			return invalid("a check of type %s has no %s", c.Type, key).WithHint("it has %s", strings.Join(known, ", "))
		}
	}
	return nil
}

func (c *Config) checkPath() error {
	if err := checkPattern("path", &c.Path); err != nil {
		return err
	}
	if strings.Contains(c.Path, "**") {
		return invalid("path %q: ** is not supported", c.Path).WithHint("write one * for each directory, as in src/*/*.go")
	}
	return nil
}

// checkPattern cleans a pattern for paths of the project, the value of a key.
func checkPattern(key string, pattern *string) error {
	if *pattern == "" {
		return invalid("%s is empty", key)
	}
	*pattern = path.Clean(*pattern)
	_, err := path.Match(*pattern, "")
	switch {
	case err != nil:
		return invalid("%s %q: %w", key, *pattern, err).WithHint("use the wildcards *, ? and [a-z]; a backslash escapes a character")
	case path.IsAbs(*pattern) || *pattern == ".." || strings.HasPrefix(*pattern, "../"):
		return invalid("%s %q is outside the project", key, *pattern).WithHint("write a path relative to the project")
	}
	return nil
}

func (c *Config) checkCommand() error {
	c.Command = cmp.Or(c.Command, c.Run)
	if strings.TrimSpace(c.Command) == "" || strings.ContainsRune(c.Command, 0) {
		return invalid("command is empty or contains a zero byte")
	}
	return nil
}

func (c *Config) checkContent() error {
	if (c.Contains == "") == (c.Matches == "") {
		return invalid("a check of type content requires either contains or matches").WithHint("set contains: to a text, or matches: to a regular expression")
	}
	if c.Matches == "" {
		return nil
	}
	var err error
	if c.pattern, err = regexp.Compile(c.Matches); err != nil {
		return invalid("matches: %w", err).WithHint("use the syntax of RE2; (?m) lets ^ and $ match at lines")
	}
	return nil
}

// checkExpect checks the expectation against the words of the type, the default first.
func (c *Config) checkExpect(words ...string) error {
	switch {
	case c.Expect.MaxWarnings != nil && c.Type == typeCommand:
		return nil
	case c.Expect.MaxWarnings != nil:
		return invalid("max_warnings is for checks of type command").WithHint("expect is one of %s", strings.Join(words, ", "))
	}
	c.Expect.Word = cmp.Or(c.Expect.Word, words[0])
	return checkWord("expect", c.Expect.Word, words)
}

// goCommand matches go test in a shell text.
var goCommand = regexp.MustCompile(`(?:^|[\s;&|(])go\s+test\b`)

// runsPackages reports whether the command runs on packages instead of files: it is go test without "$@". Tests
// outside the files are not counted then.
func (c Config) runsPackages() bool {
	return len(c.Files) > 0 && goCommand.MatchString(c.Command) && !strings.Contains(c.Command, argumentsRef)
}

// checkFiles checks the paths, which an agent may have written, and that the command can receive them.
func (c *Config) checkFiles() error {
	if c.Files == nil {
		return nil
	}
	if len(c.Files) == 0 {
		return invalid("files is empty")
	}
	for _, file := range c.Files {
		switch {
		case strings.ContainsFunc(file, unicode.IsControl) || strings.ContainsRune(file, unicode.ReplacementChar):
			return invalid("files: %.200q is not a path", file)
		case !filepath.IsLocal(filepath.FromSlash(file)):
			return invalid("files: %.200q is outside the project", file).WithHint("write a path relative to the project")
		}
	}
	if !strings.Contains(c.Command, argumentsRef) && !c.runsPackages() && endWithoutArguments.MatchString(c.Command) {
		return invalid("files: no argument can be appended to the command").WithHint(`write "$@" at the place of the files`)
	}
	return nil
}
