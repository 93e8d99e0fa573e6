package plan

import (
	"fmt"
	"regexp"
	"strings"
)

// StepPath is a path in an artifact to the items of a list, through lists: "tasks[*].steps[*]".
type StepPath []StepPathPart

// StepPathPart is one member of a [StepPath].
type StepPathPart struct {
	Name string
	// Each is true if the member is a list and the path leads to each of its items; always for the last part.
	Each bool
}

// maxStepPathParts is the maximum number of parts of a path.
const maxStepPathParts = 10

var stepPathPart = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*)(\[\*\])?$`)

// ParseStepPath reads a path: names separated by dots, each followed by [*] if it names a list. The last name may
// omit [*].
func ParseStepPath(text string) (StepPath, error) {
	parts := strings.Split(text, ".")
	if len(parts) > maxStepPathParts {
		return nil, fmt.Errorf("path %.80q has more than %d parts", text, maxStepPathParts)
	}
	p := make(StepPath, len(parts))
	for i, part := range parts {
		m := stepPathPart.FindStringSubmatch(part)
		if m == nil {
			return nil, fmt.Errorf("path %.80q has an invalid part %.40q: want names separated by dots, with [*] after those of lists, as in tasks[*].steps[*]", text, part)
		}
		p[i] = StepPathPart{m[1], m[2] != "" || i == len(parts)-1}
	}
	return p, nil
}

// String returns the path with every [*] written.
func (p StepPath) String() string {
	names := make([]string, len(p))
	for i, part := range p {
		names[i] = part.Name
		if part.Each {
			names[i] += "[*]"
		}
	}
	return strings.Join(names, ".")
}
