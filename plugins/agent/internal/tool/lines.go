package tool

import (
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// plainLines are the lines of a file without secrets, as many as it has. A secret of many lines, such as a private key,
// is only known for one as a whole: every line of it becomes a mark.
func (s *Set) plainLines(lines []string) []string {
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

// splitLines are the lines of a text without their ends; a last line without one counts.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// hides refuses a new text that has more marks than the old one: the model copied what was taken out for it, and the
// secret would be lost.
func hides(before, after string) error {
	if strings.Count(after, redact.Mark) > strings.Count(before, redact.Mark) {
		return failed("the new text has %s where the file has a secret, which would be lost: change the other parts with modify_file, and leave that one out of what is replaced", redact.Mark)
	}
	return nil
}
