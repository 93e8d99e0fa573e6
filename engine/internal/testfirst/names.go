package testfirst

import (
	"path"
	"regexp"
	"strings"
)

// declarations match the tests that a file declares, by its extension; the first group is the name.
var declarations = map[string]*regexp.Regexp{
	".go":   regexp.MustCompile(`(?m)^func (Test\w*|Fuzz\w*|Example\w*)\(`),
	".py":   regexp.MustCompile(`(?m)^\s*(?:async )?def (test\w*)\(`),
	".rs":   regexp.MustCompile(`(?m)^\s*#\[(?:\w+::)*test[^\]]*\](?:\s*#\[[^\]]*\])*\s*(?:pub )?(?:async )?fn (\w+)`),
	".java": regexp.MustCompile(`(?m)@(?:Test|ParameterizedTest)\b[^{;]*?\bvoid (\w+)\(`),
	".js":   regexp.MustCompile("(?m)\\b(?:test|it)\\(\\s*[\"'`]([^\"'`\\n]+)[\"'`]"),
}

// extensionOf maps extensions to those of declarations.
var extensionOf = map[string]string{".ts": ".js", ".tsx": ".js", ".jsx": ".js", ".mjs": ".js", ".cjs": ".js", ".mts": ".js", ".cts": ".js", ".kt": ".java"}

// Declared returns the names of the tests that a file declares, in order. It is nil for a language that is not known.
func Declared(name, content string) []string {
	extension := path.Ext(name)
	if other := extensionOf[extension]; other != "" {
		extension = other
	}
	pattern := declarations[extension]
	if pattern == nil || path.Base(name) == "conftest.py" {
		return nil
	}
	var names []string
	for _, m := range pattern.FindAllStringSubmatch(content, -1) {
		if m[1] != "TestMain" && !strings.Contains(m[1], "${") {
			names = append(names, m[1])
		}
	}
	return names
}

// isTest reports whether a name that a runner printed is the declared test: its last part, without parameters. The name
// of a file that Python's unittest could not load is none.
func isTest(printed, declared string) bool {
	if strings.HasPrefix(printed, "unittest.loader._FailedTest.") {
		return false
	}
	if i := strings.IndexByte(printed, '['); i > 0 && !strings.ContainsAny(declared, "[") {
		printed = printed[:i]
	}
	before, found := strings.CutSuffix(printed, declared)
	return found && (before == "" || strings.ContainsAny(before[len(before)-1:], ".:/> "))
}

// frameworks match the import of a test framework. Code that has none before and one after the change can replace the
// framework's functions, so that its tests pass whatever it does.
var frameworks = regexp.MustCompile(`(?m)^\s*(?:import|from) (?:unittest|pytest|_pytest|nose)\b|["'](?:node:test|vitest|@jest/globals|mocha|jest-circus)["']|^\s*(?:import )?(?:\w+ )?"testing"$`)

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
