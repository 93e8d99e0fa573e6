package check

import (
	"regexp"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// pytest reads the terminal output of pytest 6 to 9: the counts of each closing line, and the names of the short
// summary (-r) and of -v. An error counts as failed, an expected failure as skipped, and an unexpected pass as
// passed.
type pytest struct {
	tally     results
	inSummary bool // in a short summary
}

var (
	pytestBegin = regexp.MustCompile(`^=+ test session starts =+$`)
	pytestNames = regexp.MustCompile(`^=+ short test summary info =+$`)
	pytestEnd   = regexp.MustCompile(`^(?:=+ )?(\d{1,8} [a-z]+[a-z, \d]*) in \d+\.\d+s(?: \([^()]*\))?(?: =+)?$`)
	pytestNone  = regexp.MustCompile(`^(?:=+ )?no tests (?:ran|collected)`)
	pytestCount = regexp.MustCompile(`(\d{1,8}) [a-z ]*?([a-z]+)(?:, |$)`)
	pytestPass  = regexp.MustCompile(`^(?:(\S.*::.*) (?:PASSED|XPASS)(?: +\[[^\]]*\])?|\[gw\d+\] \[[^\]]*\] (?:PASSED|XPASS) (.+))$`)
	pytestOther = regexp.MustCompile(`^(?:(\S.*?::.*?) (SKIPPED|XFAIL|FAILED|ERROR)(?: .*)?|\[gw\d+\] \[[^\]]*\] (SKIPPED|XFAIL|FAILED|ERROR) (.+))$`)
)

// pytestStatus are the statuses of the outcomes that have no passed test.
var pytestStatus = map[string]string{"SKIPPED": statusSkipped, "XFAIL": statusSkipped, "FAILED": statusFailed, "ERROR": statusFailed}

func beginsPytest(line []byte) bool {
	text := []byte(firing.PlainText(line))
	return pytestBegin.Match(text) || pytestNames.Match(text) || pytestEnd.Match(text) || pytestNone.Match(text)
}

func (p *pytest) readLine(line []byte) []byte {
	text := firing.PlainText(line)
	switch end := pytestEnd.FindStringSubmatch(text); {
	case end != nil:
		p.inSummary = false
		p.addCounts(end[1])
	case pytestNames.MatchString(text):
		p.inSummary = true
	case p.inSummary:
		p.readSummaryLine(text)
	default:
		if m := pytestPass.FindStringSubmatch(text); m != nil {
			p.tally.namePassed(m[1] + m[2])
		} else if m := pytestOther.FindStringSubmatch(text); m != nil {
			p.tally.name(m[1]+m[4], pytestStatus[m[2]+m[3]])
		}
	}
	return line
}

// addCounts adds the counts of a closing line, such as "1 failed, 2 passed, 3 warnings".
func (p *pytest) addCounts(counts string) {
	for _, m := range pytestCount.FindAllStringSubmatch(counts, -1) {
		n := parseDigits(m[1])
		switch m[2] {
		case "passed", "xpassed":
			p.tally.passed += n
		case "failed", "error", "errors":
			p.tally.failed += n
		case "skipped", "xfailed":
			p.tally.skipped += n
		}
	}
}

// readSummaryLine reads a line of the short summary: the outcome, the test, and the reason of a failure.
func (p *pytest) readSummaryLine(text string) {
	outcome, test, _ := strings.Cut(text, " ")
	switch outcome {
	case "FAILED", "ERROR":
		p.tally.nameFailed(nodeID(test))
	case "PASSED", "XPASS":
		p.tally.namePassed(nodeID(test))
	case "XFAIL":
		p.tally.name(nodeID(test), statusSkipped)
	}
}

// nodeID returns the text before " - ", which may also occur in the brackets of a test's parameters.
func nodeID(text string) string {
	depth := 0
	for i := range len(text) {
		switch {
		case text[i] == '[':
			depth++
		case text[i] == ']':
			depth--
		case depth == 0 && strings.HasPrefix(text[i:], " - "):
			return text[:i]
		}
	}
	before, _, _ := strings.Cut(text, " - ") // unbalanced brackets
	return before
}

func (p *pytest) results() (results, error) { return p.tally, nil }
