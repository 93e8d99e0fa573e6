package testfirst

import (
	"cmp"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// declarations match the tests that a file declares, by its extension: the group name, or text, a quoted title. A
// declaration with the group fixture is none.
var declarations = map[string]*regexp.Regexp{
	".py":   regexp.MustCompile(`(?m)^(?P<fixture>[ \t]*@[\w.]*fixture\b(?:\([^)]*\))?\s*)?(?:[ \t]*@.*\n)*[ \t]*(?:async )?def (?P<name>test\w*)\(`),
	".rs":   regexp.MustCompile(`(?m)^\s*#\[(?:\w+::)*test[^\]]*\](?:\s*#\[[^\]]*\])*\s*(?:pub )?(?:async )?fn (?P<name>\w+)`),
	".java": regexp.MustCompile(`(?m)@(?:Test|ParameterizedTest)\b[^{;]*?\bvoid (?P<name>\w+)\(`),
	".kt":   regexp.MustCompile("(?m)@(?:Test|ParameterizedTest)\\b[^{;]*?\\bfun (?:(?P<name>\\w+)|`(?P<text>[^`\n]+)`)\\("),
	".js":   regexp.MustCompile("(?m)(?:^|[;{(,>])[ \\t]*(?:await )?(?:test|it)\\(\\s*(?:\"(?P<text>(?:[^\"\\\\\n]|\\\\.)+)\"|'(?P<text>(?:[^'\\\\\n]|\\\\.)+)'|`(?P<text>(?:[^`\\\\]|\\\\.)+)`)"),
}

// extensionOf maps extensions to those of declarations.
var extensionOf = map[string]string{".ts": ".js", ".tsx": ".js", ".jsx": ".js", ".mjs": ".js", ".cjs": ".js", ".mts": ".js", ".cts": ".js"}

// escapes are the escaped characters in a title.
var escapes = regexp.MustCompile(`\\(.)`)

// Declared returns the names of the tests that a file declares, in order. It is nil for a language that is not known.
func Declared(name, content string) []string {
	extension := path.Ext(name)
	if extension == ".go" {
		return declaredInGo(content)
	}
	pattern := declarations[cmp.Or(extensionOf[extension], extension)]
	if pattern == nil || path.Base(name) == "conftest.py" {
		return nil
	}
	if extension == ".rs" {
		content = rustCode(content)
	}
	var names []string
	for _, m := range pattern.FindAllStringSubmatch(content, -1) {
		declared := ""
		for i, group := range pattern.SubexpNames() {
			switch group {
			case "name":
				declared += m[i]
			case "text":
				declared += escapes.ReplaceAllString(m[i], "$1")
			}
		}
		if fixture := pattern.SubexpIndex("fixture"); (fixture < 0 || m[fixture] == "") && !strings.Contains(declared, "${") {
			names = append(names, declared)
		}
	}
	return names
}

// declaredInGo returns the tests, fuzz tests and examples with output of a Go file, also of one with faults (go doc
// testing).
func declaredInGo(content string) []string {
	file, _ := parser.ParseFile(token.NewFileSet(), "", content, parser.ParseComments|parser.SkipObjectResolution)
	if file == nil {
		return nil
	}
	var names []string
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name == "TestMain" {
			continue
		}
		for _, prefix := range []string{"Test", "Fuzz"} {
			rest, ok := strings.CutPrefix(f.Name.Name, prefix)
			if first, _ := utf8.DecodeRuneInString(rest); ok && !unicode.IsLower(first) && f.Type.Params.NumFields() == 1 {
				names = append(names, f.Name.Name)
			}
		}
	}
	for _, e := range doc.Examples(file) {
		if e.Output != "" || e.EmptyOutput {
			names = append(names, "Example"+e.Name)
		}
	}
	return names
}

// parameters match the end of a printed name that a declaration does not have: the parameters of pytest and JUnit, and
// the cases of a Rust test.
var parameters = regexp.MustCompile(`^(?:\[.*|\(.*|::\w+)?$`)

// isTest reports whether a name that a runner printed is the declared test: its last part, without parameters. The name
// of a file that Python's unittest could not load is none.
func isTest(printed, declared string) bool {
	if strings.HasPrefix(printed, "unittest.loader._FailedTest.") {
		return false
	}
	for at := 0; ; at++ {
		i := strings.Index(printed[at:], declared)
		if i < 0 || declared == "" {
			return false
		}
		at += i
		if (at == 0 || strings.ContainsAny(printed[at-1:at], ".:/> ")) && parameters.MatchString(printed[at+len(declared):]) {
			return true
		}
	}
}

// frameworks match the import of a test framework. Code that has none before and one after the change can replace the
// framework's functions, so that its tests pass whatever it does.
var frameworks = regexp.MustCompile(`(?m)^\s*(?:import|from)\s[\w., ]*\b(?:unittest|pytest|_pytest|nose)\b|["'](?:unittest(?:\.case)?|_?pytest)["']|\bassert(?:\.strict)?\.\w+\s*=[^=>]|["'](?:node:test|vitest|@jest/globals|mocha|jest-circus)["']|^\s*(?:import )?(?:\w+ )?"testing"$`)

// TouchesFramework reports whether a change of code imports a test framework.
func TouchesFramework(before, after string) bool {
	return frameworks.MatchString(after) && !frameworks.MatchString(before)
}

// missingSymbol matches the message of a compiler or a loader that names a missing symbol of the code under test.
var missingSymbol = regexp.MustCompile(strings.Join([]string{
	`\bundefined: \w`, `undefined \(type .* has no (?:field or )?method`, `has no field or method`, `undeclared name`, `no required module provides package`, `is not in std`, `package \S+ is not in`, `not enough arguments in call`, `too many arguments in call`, // Go
	`No module named`, `cannot import name`, `has no attribute`, `name '\w+' is not defined`, // Python
	`Cannot find module`, `does not provide an export`, `is not a function`, `is not defined`, `Cannot find name`, `has no exported member`, `ERR_MODULE_NOT_FOUND`, `Failed to resolve import`, `is not a constructor`, // JavaScript, TypeScript
	`error\[E0(?:425|432|433|412|599|583|061)\]`,       // Rust: unresolved names, imports, methods, modules, arguments
	`cannot find symbol`, `package \S+ does not exist`, // Java
}, "|"))
