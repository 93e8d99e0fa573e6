package testfirst

import (
	"fmt"
	"maps"
	"regexp"
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

// Error returns the code and the message.
func (c *Cheat) Error() string { return c.Code + ": " + c.Message }

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

// Declaration is the tests that a changed file declares now, and before the change, by reading it.
type Declaration struct{ Now, Before []string }

// CheckNew judges failing tests: each new test fails, and because code is missing. It returns the new tests.
func CheckNew(declared []Declaration, base, now Run, maxPassRatio float64) (tests []string, c *Cheat) {
	tests, unbuilt := newTests(declared, base, now)
	if len(tests) == 0 {
		return nil, cheat(CheatNothing, "no new test ran, at least one must fail")
	}
	if len(unbuilt) > 0 && !missingSymbol.MatchString(now.Output) {
		return tests, cheat(CheatBuild, "%s did not run, and the output names no missing code: repair the tests, so that they fail because the code is missing", list(unbuilt))
	}
	var passed, skipped []string
	for _, name := range tests {
		switch s := status(now, base, name); {
		case slices.Contains(unbuilt, name): // a test of another file can have its name
		case s == Passed:
			passed = append(passed, name)
		case s == Skipped:
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

// newTests returns the tests that the base does not have, or that passed there and fail now, since their file changed.
// Where no test of a file ran, because it does not build, its declared tests stand for themselves and are in unbuilt
// too; names that runners print instead of them, such as that of a package, are then left out.
func newTests(declared []Declaration, base, now Run) (tests, unbuilt []string) {
	var all []string
	for _, d := range declared {
		all = append(all, d.Now...)
	}
	for _, name := range slices.Sorted(maps.Keys(now.Tests)) {
		isDeclared := func(d string) bool { return isTest(name, d) || strings.Contains(name, d+"/") }
		switch was := base.Tests[name]; {
		case was == "" && len(all) == 0:
			tests = append(tests, name)
		case was == "" || was == Passed && now.Tests[name] == Failed:
			if slices.ContainsFunc(all, isDeclared) {
				tests = append(tests, name)
			}
		}
	}
	for _, d := range declared {
		unbuilt = append(unbuilt, d.unbuilt(tests, base, now)...)
	}
	return append(tests, unbuilt...), unbuilt
}

// unbuilt returns the added tests of a file of which no test is new; if none was added, those of the base that are absent
// now. Tests of other files may have the same names.
func (d Declaration) unbuilt(tests []string, base, now Run) []string {
	isDeclared := func(name string) bool {
		return slices.ContainsFunc(d.Now, func(d string) bool { return isTest(name, d) })
	}
	if slices.ContainsFunc(tests, isDeclared) {
		return nil
	}
	var names []string
	for _, name := range d.Now {
		if !slices.Contains(d.Before, name) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return names
	}
	for _, name := range slices.Sorted(maps.Keys(base.Tests)) {
		if base.Tests[name] == Passed && now.Tests[name] == "" && isDeclared(name) {
			names = append(names, name)
		}
	}
	return names
}

// status returns the status of the test with a printed name, "" if none ran. For a declared name it is the worst status
// of its tests that the base does not have.
func status(r, base Run, test string) string {
	order := []string{"", Passed, Skipped, Failed}
	if s := r.Tests[test]; s != "" {
		return s
	}
	worst := ""
	for name, s := range r.Tests {
		if base.Tests[name] == "" && isTest(name, test) && slices.Index(order, s) > slices.Index(order, worst) {
			worst = s
		}
	}
	return worst
}

// variant matches the name of a subtest or of a test with parameters, up to the part that may differ between two runs.
var variant = regexp.MustCompile(`^(.+?\.Test\w*/|[^\[]+\[)`)

// CheckRan returns a cheat unless the tests of RED, and those of the base that did not fail, all ran and were not skipped.
// Failing tests are no cheat: the check itself reports them. Of a test of the base with variants, one of them is enough: their names
// can contain a port or an address.
func CheckRan(tests []string, base, now Run) *Cheat {
	variants := map[string]bool{"": false}
	for name := range now.Tests {
		variants[variant.FindString(name)] = variant.MatchString(name)
	}
	var absent, skipped []string
	for _, name := range slices.Concat(tests, slices.Sorted(maps.Keys(base.Tests))) {
		switch s := status(now, base, name); {
		case base.Tests[name] == Failed: // possibly the name of a package that did not build
		case s == "" && base.Tests[name] != "" && variants[variant.FindString(name)]:
		case s == "" && !slices.Contains(absent, name):
			absent = append(absent, name)
		case s == Skipped && base.Tests[name] != Skipped && !slices.Contains(skipped, name):
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

// CheckWithout judges a run of the tests on the code of before: each of the tests must not pass there, one of them if some is
// set. A test that passed in the base is not judged, since another test can have its name. It returns the tests that do
// not pass.
func CheckWithout(tests []string, base, before Run, some bool) (failing []string, c *Cheat) {
	var passed []string
	for _, name := range tests {
		switch {
		case status(before, base, name) != Passed:
			failing = append(failing, name)
		case base.Tests[name] != Passed:
			passed = append(passed, name)
		}
	}
	if len(passed) == 0 || some && len(failing) > 0 {
		return failing, nil
	}
	return failing, cheat(CheatPasses, "%s passes without the code that it tests", list(passed))
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
