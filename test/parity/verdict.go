package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// verdict is the summary of a report.
type verdict struct {
	count      string   // the referee's own last line
	undisputed []string // its FAIL lines that are not listed
	disputed   []string // its FAIL lines that are
	silent     []string // listed cases that were not reported
}

var (
	caseLine  = regexp.MustCompile(`^(PASS|FAIL) ([^\s:]+)(: .*)?$`)
	countLine = regexp.MustCompile(`^\d+ passed, \d+ failed$`)
)

// judge reads a report and the referee's exit code. It is an error if they do not fit each other and the number of
// cases: then a report without FAIL lines proves nothing.
func judge(report string, exit, cases int, listed []string) (verdict, error) {
	lines := strings.Split(strings.TrimRight(report, "\n"), "\n")
	v := verdict{count: lines[len(lines)-1]}
	if !countLine.MatchString(v.count) {
		return v, fmt.Errorf("it ends with %q, not with the number of cases that passed and failed", v.count)
	}
	results := map[string]string{} // case → PASS or FAIL
	for _, line := range lines {
		m := caseLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if other, twice := results[m[2]]; twice && other != m[1] {
			return v, fmt.Errorf("%s both passed and failed", m[2])
		}
		results[m[2]] = m[1]
		switch {
		case m[1] == "PASS":
		case slices.Contains(listed, line):
			v.disputed = append(v.disputed, line)
		default:
			v.undisputed = append(v.undisputed, line)
		}
	}
	for _, line := range listed {
		if !slices.Contains(v.disputed, line) {
			v.silent = append(v.silent, line)
		}
	}
	return v, consistent(v.count, results, exit, cases)
}

// consistent compares the results of the cases with the count, the exit code and the number of cases.
func consistent(count string, results map[string]string, exit, cases int) error {
	passed, failed, code := 0, 0, 0
	for _, word := range results {
		if word == "PASS" {
			passed++
		} else {
			failed, code = failed+1, 1
		}
	}
	if own := fmt.Sprintf("%d passed, %d failed", passed, failed); own != count {
		return fmt.Errorf("it counts %q, its lines are %q", count, own)
	}
	if len(results) != cases || cases == 0 {
		return fmt.Errorf("it speaks of %d cases of %d", len(results), cases)
	}
	if exit != code {
		return fmt.Errorf("it exited with %d, want %d", exit, code)
	}
	return nil
}

// listed are the lines of a list but for comments and empty ones.
func listed(list string) []string {
	var lines []string
	for line := range strings.Lines(list) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

func (v verdict) print(out io.Writer) {
	for _, part := range []struct {
		title string
		lines []string
	}{
		{"Not disputed, to be fixed:", v.undisputed},
		{"Disputed (test/parity/disputed.txt says why):", v.disputed},
		{"Listed there, and no longer said:", v.silent},
	} {
		if len(part.lines) > 0 {
			fmt.Fprintf(out, "\n%s\n  %s\n", part.title, strings.Join(part.lines, "\n  "))
		}
	}
	fmt.Fprintf(out, "\n%s\n", v.count)
}
