package testfirst

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The statuses of tests in a [Run].
const (
	Passed  = "passed"
	Failed  = "failed"
	Skipped = "skipped"
)

// Run is one run of the tests: the status of each by its name, and the end of the output.
type Run struct {
	Tests  map[string]string
	Output string
}

// Cheat is a claim that measurements contradict: a code, and a message that names the contradiction.
type Cheat struct{ Code, Message string }

// The codes of cheats.
const (
	CheatCode    = "CHEAT-CODE"    // RED changed files that are no tests
	CheatTests   = "CHEAT-TESTS"   // tests, or what decides which tests run, were changed after RED
	CheatSkipped = "CHEAT-SKIPPED" // a test is skipped
	CheatAbsent  = "CHEAT-ABSENT"  // a test did not run
	CheatPasses  = "CHEAT-PASSES"  // a test passes without the code that it tests
	CheatBuild   = "CHEAT-BUILD"   // tests do not build, and no missing code is the reason
	CheatNothing = "CHEAT-NOTHING" // nothing was changed
	CheatRunner  = "CHEAT-RUNNER"  // the code changes how its tests are judged
)

func cheat(code, format string, args ...any) *Cheat {
	return &Cheat{code, fmt.Sprintf(format, args...)}
}

// CheckNew judges failing tests: each new test fails, and because code is missing. declared are the tests of each changed
// file, by reading it. It returns the new tests.
func CheckNew(declared [][]string, base, now Run, maxPassRatio float64) (tests []string, c *Cheat) {
	tests, unbuilt := newTests(declared, base, now)
	if len(tests) == 0 {
		return nil, cheat(CheatNothing, "no new test ran, at least one must fail")
	}
	if len(unbuilt) > 0 && !missingSymbol.MatchString(now.Output) {
		return tests, cheat(CheatBuild, "%s did not run, and the output names no missing code: repair the tests, so that they fail because the code is missing", list(unbuilt))
	}
	var passed, skipped []string
	for _, name := range tests {
		switch status(now, name) {
		case Passed:
			passed = append(passed, name)
		case Skipped:
			skipped = append(skipped, name)
		}
	}
	switch {
	case len(skipped) > 0:
		return tests, cheat(CheatSkipped, "%s is skipped: a new test must run and fail", list(skipped))
	case float64(len(passed)) > maxPassRatio*float64(len(tests)):
		return tests, cheat(CheatPasses, "%d of %d new tests pass, none should: %s", len(passed), len(tests), list(passed))
	}
	return tests, nil
}

// newTests returns the tests that the base does not have. Where no test of a file ran, because it does not build, its
// declared tests stand for themselves and are in unbuilt too; names that runners print instead of them, such as that of
// a package, are then left out.
func newTests(declared [][]string, base, now Run) (tests, unbuilt []string) {
	all := slices.Concat(declared...)
	for _, name := range slices.Sorted(maps.Keys(now.Tests)) {
		isDeclared := func(d string) bool { return isTest(name, d) || strings.Contains(name, d+"/") }
		if base.Tests[name] == "" && (len(all) == 0 || slices.ContainsFunc(all, isDeclared)) {
			tests = append(tests, name)
		}
	}
	for _, names := range declared {
		if !slices.ContainsFunc(names, func(name string) bool { return status(now, name) != "" }) {
			unbuilt = append(unbuilt, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return status(base, name) != "" })...)
		}
	}
	return append(tests, unbuilt...), unbuilt
}

// status returns the worst status of the tests with a name, printed or declared; "" if none ran.
func status(r Run, test string) string {
	if s := r.Tests[test]; s != "" {
		return s
	}
	worst := ""
	for name, s := range r.Tests {
		if isTest(name, test) && slices.Index([]string{"", Passed, Skipped, Failed}, s) > slices.Index([]string{"", Passed, Skipped, Failed}, worst) {
			worst = s
		}
	}
	return worst
}

// CheckRan returns a cheat unless the tests of RED, and those of the base that did not fail, all ran and were not skipped.
// Failing tests are no cheat: the check itself reports them.
func CheckRan(tests []string, base, now Run) *Cheat {
	var absent, skipped []string
	for _, name := range slices.Concat(tests, slices.Sorted(maps.Keys(base.Tests))) {
		switch s := status(now, name); {
		case base.Tests[name] == Failed: // possibly the name of a package that did not build
		case s == "":
			absent = append(absent, name)
		case s == Skipped && base.Tests[name] != Skipped:
			skipped = append(skipped, name)
		}
	}
	switch {
	case len(absent) > 0:
		return cheat(CheatAbsent, "%s did not run", list(absent))
	case len(skipped) > 0:
		return cheat(CheatSkipped, "%s is skipped", list(skipped))
	default:
		return nil
	}
}

// CheckWithout judges a run of the tests on the code of before: each of the tests must not pass there.
func CheckWithout(tests []string, before Run) *Cheat {
	var passed []string
	for _, name := range tests {
		if status(before, name) == Passed {
			passed = append(passed, name)
		}
	}
	if len(passed) == 0 {
		return nil
	}
	return cheat(CheatPasses, "%s passes without the code that it tests", list(passed))
}

// Fixed returns the tests that show a fix: they failed or were absent before, and pass now.
func Fixed(base, now Run) []string {
	var tests []string
	for _, name := range slices.Sorted(maps.Keys(now.Tests)) {
		if now.Tests[name] == Passed && base.Tests[name] != Passed {
			tests = append(tests, name)
		}
	}
	return tests
}

// list returns the first names of a list, with the number of the others.
func list(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
