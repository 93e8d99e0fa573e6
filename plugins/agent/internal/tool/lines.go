package tool

import (
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// redactLines returns the lines of a file without secrets; their number stays. A secret of several lines, such as a
// private key, is recognized only as a whole: each of its lines becomes a mark.
func (s *Set) redactLines(lines []string) []string {
	text := strings.Join(lines, "\n")
	whole := s.o.Redactor.Text(text)
	if whole == text {
		return lines
	}
	left := map[string]bool{}
	for line := range strings.SplitSeq(whole, "\n") {
		left[line] = true
	}
	plain := make([]string, len(lines))
	for i, line := range lines {
		switch redacted := s.o.Redactor.Text(line); {
		case redacted != line:
			plain[i] = redacted
		case left[line]:
			plain[i] = line
		default:
			plain[i] = redact.Mark
		}
	}
	return plain
}

// splitLines returns the lines of a text without line ends; an unfinished last line counts.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// checkMarks refuses a text with more redaction marks than before: the model copied a mark, and the secret would be lost.
func checkMarks(before, after string) error {
	if strings.Count(after, redact.Mark) > strings.Count(before, redact.Mark) {
		return newFailure("the new text has %s where the file has a secret, which would be lost: change the other parts with modify_file, and do not replace the secret", redact.Mark)
	}
	return nil
}
