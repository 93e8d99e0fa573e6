package check

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firingtest"
)

// The error of an invalid key names the key (REQUIREMENTS U243).
func TestValidate(t *testing.T) {
	action := New()
	firingtest.Validate(t, action, [][2]string{
		{`{"type": "file", "path": "reports/*.xml", "exists": false}`, ""},
		{`{"type": "content", "path": "a", "matches": "(?m)^ok$"}`, ""},
		{`{"type": "command", "command": "x", "expect": {"max_warnings": 0}}`, ""},
		{`{"type": "tests", "command": "x", "expect": "none_pass", "format": "tap"}`, ""},
		{`{"type": "tests", "command": "x", "report": "**/build/**/*.xml"}`, ""},
		{`{"type": "tests", "command": "x", "report": "../a.xml"}`, `report "../a.xml" is outside the project`},
		{`{"type": "tests", "command": "x", "report": "/tmp/a.xml"}`, "is outside the project"},
		{`{"type": "tests", "command": "x", "report": "a["}`, "syntax error in pattern"},
		{`{"type": "command", "command": "x", "report": "a.xml"}`, "a check of type command has no report"},
		{`{}`, "type is missing"},
		{`{"type": "test"}`, `did you mean "tests"?`},
		{`{"type": "file"}`, "path is missing"},
		{`{"type": "file", "path": ""}`, "path is empty"},
		{`{"type": "file", "path": "a", "command": "x"}`, "a check of type file has no command"},
		{`{"type": "file", "path": "../a"}`, "is outside the project"},
		{`{"type": "file", "path": "/etc/passwd"}`, "is outside the project"},
		{`{"type": "file", "path": "a/**/b"}`, "** is not supported"},
		{`{"type": "file", "path": "a["}`, "syntax error in pattern"},
		{`{"type": "content", "path": "a"}`, "either contains or matches"},
		{`{"type": "content", "path": "a", "contains": "b", "matches": "c"}`, "either contains or matches"},
		{`{"type": "content", "path": "a", "matches": "("}`, "missing closing )"},
		{`{"type": "command", "command": ""}`, "command is empty"},
		{`{"type": "command", "command": "x", "expect": "exit_zeor"}`, `did you mean "exit_zero"?`},
		{`{"type": "command", "command": "x", "expect": "all_pass"}`, `expect "all_pass" is unknown`},
		{`{"type": "command", "command": "x", "expect": {"max_warnigs": 1}}`, `did you mean "max_warnings"?`},
		{`{"type": "command", "command": "x", "expect": {}}`, "at least 0"},
		{`{"type": "tests", "command": "x", "expect": {"max_warnings": 1}}`, "for checks of type command"},
		{`{"type": "tests", "command": "x", "format": "junti"}`, `did you mean "junit"?`},
		{`{"type": "file_exists", "path": "a", "exists": true}`, ""},
		{`{"type": "file_content", "path": "a", "contains": "b"}`, ""},
		{`{"type": "file_content", "path": "a"}`, "either contains or matches"},
		{`{"type": "file_exist", "path": "a"}`, `did you mean "file_exists"?`},
		{`{"type": "command", "run": "x"}`, ""},
		{`{"type": "command", "run": ""}`, "command is empty"},
		{`{"type": "command", "run": "x", "command": "x"}`, "run and command are the same"},
		{`{"type": "file", "path": "a", "run": "x"}`, "a check of type file has no run"},
		{`{"type": "tests", "run": "x", "format": "cargo", "files": ["a", "b/c d.py::t"]}`, ""},
		{`{"type": "command", "run": "x && y", "files": ["a"]}`, ""},
		{`{"type": "command", "run": "(cd x; y $@) # z", "files": ["a"]}`, ""},
		{`{"type": "tests", "run": "x", "files": []}`, "files is empty"},
		{`{"type": "tests", "run": "x", "files": ["a", ""]}`, "is outside the project"},
		{`{"type": "tests", "run": "x", "files": ["a/../../b"]}`, "is outside the project"},
		{`{"type": "tests", "run": "x", "files": ["/etc/passwd"]}`, "is outside the project"},
		{`{"type": "tests", "run": "x", "files": ["a\nb"]}`, "is not a path"},
		{`{"type": "tests", "run": "x", "files": ["a\u0000"]}`, "is not a path"},
		{`{"type": "tests", "run": "x", "files": "a"}`, "want an array"},
		{`{"type": "tests", "run": "x;", "files": ["a"]}`, "no argument can be appended"},
		{`{"type": "tests", "run": "x & ", "files": ["a"]}`, "no argument can be appended"},
		{`{"type": "tests", "run": "(x)", "files": ["a"]}`, "no argument can be appended"},
		{`{"type": "tests", "run": "x # y", "files": ["a"]}`, "no argument can be appended"},
		{`{"type": "tests", "run": "x \\", "files": ["a"]}`, "no argument can be appended"},
		{`{"type": "tests", "run": "x\ny", "files": ["a"]}`, "no argument can be appended"},
		{`{"type": "tests", "run": "x\n", "files": ["a"]}`, ""},
		{`{"type": "tests", "run": "x >", "files": ["a"]}`, "no argument can be appended"},
		{`{"type": "file", "path": "a", "files": ["a"]}`, "has no files"},
		{`{"type": 7}`, "want a string"},
	})
}

// Only the command of the tests gets the option for names, not another one of the text.
func TestCommandWithNames(t *testing.T) {
	for text, want := range map[string]string{
		"go vet ./... && go test $(go list ./...)": "go vet ./... && go test -json $(go list ./...)",
		"(go test -C sub ./...);go  test -v .":     "(go test -C sub -json ./...);go  test -json -v .",
		"go test -json ./...":                      "go test -json ./...",
		"cargo test; echo 'x go testing'":          "cargo test; echo 'x go testing'",
		"python3 -m unittest":                      "python3 -m unittest -v",
		"(python3 -m unittest discover -s tests)":  "(python3 -m unittest discover -v -s tests)",
		"python3 -m unittest; true":                "python3 -m unittest -v; true",
		"python3 -m unittesting":                   "python3 -m unittesting",
	} {
		for names, want := range map[bool]string{false: text, true: want} {
			if got := (Config{Command: text, Names: names}).commandWithNames(nil); got != want {
				t.Errorf("names %v: %s, want %s", names, got, want)
			}
		}
	}
}

// jest and vitest get options for a report, also behind a script of package.json, where the script gets them.
func TestCommandOfJest(t *testing.T) {
	const (
		ofJest   = `--json --outputFile="$AGENT_PIPELINES_CONTEXT_FILE.json"`
		ofVitest = `--reporter=default --reporter=json --outputFile.json="$AGENT_PIPELINES_CONTEXT_FILE.json"`
	)
	scripts := map[string]string{"test": "tsc && jest", "unit": "vitest", "lint": "eslint .", "own": "jest --outputFile=x"}
	for text, want := range map[string]string{
		"npx jest":                             "npx jest " + ofJest,
		"jest -i src; true":                    "jest " + ofJest + " -i src; true",
		"cd web && npx vitest@3.2 run --dir a": "cd web && npx vitest@3.2 run " + ofVitest + " --dir a",
		"(node node_modules/jest/bin/jest.js)": "(node node_modules/jest/bin/jest.js " + ofJest + ")",
		"npm test":                             "npm test -- " + ofJest + " ",
		"npm --silent test && echo done":       "npm --silent test -- " + ofJest + " && echo done",
		"npm run test -- -t 'a|b'":             "npm run test -- " + ofJest + " -t 'a|b'",
		"npm run -s unit":                      "npm run -s unit -- " + ofVitest + " ",
		"yarn test -i":                         "yarn test " + ofJest + " -i",
		"pnpm run unit":                        "pnpm run unit " + ofVitest,
		"yarn jest":                            "yarn jest " + ofJest,
		"npm run lint":                         "npm run lint",
		"npm run own":                          "npm run own",
		"npm ci":                               "npm ci",
		"jest --outputFile=x":                  "jest --outputFile=x",
		"cat jest.config.js; make vitests":     "cat jest.config.js; make vitests",
	} {
		if diff := cmp.Diff(want, (Config{Command: text, Names: true}).commandWithNames(scripts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	if got := (Config{Command: "npx jest", Names: true, Report: "a.xml"}).commandWithNames(nil); got != "npx jest" {
		t.Errorf("%s, want no option beside report", got)
	}
}

func TestReporterVariables(t *testing.T) {
	t.Setenv("PYTEST_ADDOPTS", "-x")
	t.Setenv("PYTHONPATH", "/lib")
	for _, tt := range []struct {
		config Config
		want   map[string]string
	}{
		{Config{Isolated: true}, nil},
		{Config{Names: true}, map[string]string{"PYTEST_ADDOPTS": "-x -vv -rfEpxX"}},
		{Config{Names: true, Isolated: true}, map[string]string{"PYTEST_ADDOPTS": "-x -vv -rfEpxX --rootdir=. --confcutdir=.", "PYTHONPATH": "/d:/d/src:/lib"}},
	} {
		if diff := cmp.Diff(tt.want, tt.config.reporterVariables("/d")); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.config, diff)
		}
	}
}

// The schema is written by hand, so it must declare the keys that the struct reads.
func TestSchemaDeclaresAllKeys(t *testing.T) {
	plugintest.SchemaKeys(t, schema, Config{})
}

// FuzzConfig decodes any configuration. An accepted configuration has a known type and the keys that it requires.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		`{"type":"tests","command":"go test ./...","expect":"all_pass","format":"go"}`, `{"type":"command","run":"make","expect":{"max_warnings":0}}`, `{"type":"file_exists","path":"a","exists":false}`,
		`{"type":"content","path":"a","matches":"x+"}`, `{"type":"content","path":"../a","contains":"x"}`, `{"type":"tests","command":"x","files":["a_test.go"]}`, `{"type":"tests","command":" ","files":["a_test.go"]}`, `{"type":"test"}`, `{"type":"tests","run":"npx jest","names":true,"report":"**/a.xml"}`, "null", "[]", `{"type":"command","run":"a","command":"b"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := readConfig(raw)
		if err != nil {
			if failure.KindOf(err) != failure.ConfigInvalid {
				t.Errorf("kind %q of %v", failure.KindOf(err), err)
			}
			return
		}
		keys, known := typeKeys[c.Type]
		if !known {
			t.Fatalf("type %q is taken", c.Type)
		}
		if slices.Contains(keys.required, "command") && strings.TrimSpace(c.Command) == "" || slices.Contains(keys.required, "path") && c.Path == "" {
			t.Errorf("%s lacks what it needs: %+v", c.Type, c)
		}
	})
}

// FuzzExpectation decodes any expectation. An accepted expectation is a word or a limit of at least 0, never both.
func FuzzExpectation(f *testing.F) {
	for _, seed := range []string{`"all_pass"`, `{"max_warnings":3}`, `{"max_warnings":-1}`, "null", "{}", `{"max_warnings":null}`, `{"other":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var e Expectation
		if json.Unmarshal(raw, &e) != nil {
			return
		}
		if e.MaxWarnings != nil && (*e.MaxWarnings < 0 || e.Word != "") {
			t.Errorf("%s is %+v", raw, e)
		}
	})
}
