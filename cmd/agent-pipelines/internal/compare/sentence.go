package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// sentence returns the result of the comparison in a sentence.
func (c *Comparison) sentence() string {
	if c.Equal {
		return "did the same" + c.conclusion() + ": " + c.both()
	}
	made := slices.ContainsFunc(c.Differ, func(kind string) bool { return kind != kindPlan && kind != kindInputs })
	if !made {
		return "had the same result" + c.conclusion() + ", though " + strings.Join(c.describeInputs(), ", and ") + ": " + c.both()
	}
	var parts []string
	if c.end(0) != c.end(1) {
		parts = append(parts, c.describeEnds())
	}
	parts = append(parts, c.describeInputs()...)
	if names := c.differing(); len(names) > 0 {
		verb := " came to something else"
		if len(names) > 3 {
			parts = append(parts, screen.Plural(len(names), "stage")+verb)
		} else {
			parts = append(parts, strings.Join(names, ", ")+verb)
		}
	} else if c.Divergence != nil {
		parts = append(parts, "they went different ways")
	}
	parts = append(parts, c.describeDifferences()...)
	if n := len(c.Exact); n > 0 {
		parts = append(parts, screen.Plural(n, "exact difference"))
	}
	return "did not do the same" + c.conclusion() + ": " + strings.Join(parts, "; ")
}

// conclusion names the session that is still running.
func (c *Comparison) conclusion() string {
	if c.Sessions[0].Running || c.Sessions[1].Running {
		return " so far"
	}
	return ""
}

// both returns the common end of both sessions.
func (c *Comparison) both() string {
	s := &c.Sessions[0]
	if s.Status == "" {
		return "both never began"
	}
	return both(s) + ", after " + screen.Plural(s.Iterations, "iteration")
}

func both(s *Session) string {
	text := describeEnd(s)
	if ending, is := strings.CutPrefix(text, "is "); is {
		return "both are " + ending
	}
	return "both " + text
}

// describeEnds returns the ends of both sessions.
func (c *Comparison) describeEnds() string {
	a, b := &c.Sessions[0], &c.Sessions[1]
	if status(a) == status(b) && a.Stage == b.Stage && a.Status != "" {
		return both(a) + ", for different reasons"
	}
	return fmt.Sprintf("'%s' %s and '%s' %s", a.Session, describeEnd(a), b.Session, describeEnd(b))
}

func describeEnd(s *Session) string {
	text := "is " + status(s)
	switch s.Status {
	case "":
		return "never began"
	case state.Failed:
		text = "failed"
	}
	if s.Stage != "" {
		text += " at " + s.Stage
	}
	return text
}

// status returns the status of a session as text.
func status(s *Session) string {
	if s.Crashed {
		return "crashed"
	}
	return cmp.Or(string(s.Status), "never began")
}

// describeInputs lists the differences of plans and inputs.
func (c *Comparison) describeInputs() []string {
	var parts []string
	if a, b := c.Sessions[0].Pipeline, c.Sessions[1].Pipeline; a != b && a != "" && b != "" {
		parts = append(parts, fmt.Sprintf("they ran different pipelines (%s and %s)", a, b))
	} else if n := len(c.Plan); n > 0 {
		parts = append(parts, "their plans differ in "+screen.Plural(n, "place"))
	}
	if len(c.Inputs) > 0 {
		parts = append(parts, "they were given different inputs")
	}
	return parts
}

// describeDifferences counts the texts that differ.
func (c *Comparison) describeDifferences() []string {
	outputs, artifacts := 0, 0
	for i := range c.Texts {
		if t := &c.Texts[i]; t.Kind == "output" {
			outputs += 1 + t.More
		} else {
			artifacts++
		}
	}
	var parts []string
	for _, group := range []struct {
		n    int
		noun string
	}{{outputs, "output"}, {artifacts, "artifact"}} {
		switch group.n {
		case 0:
		case 1:
			parts = append(parts, "1 "+group.noun+" differs")
		default:
			parts = append(parts, screen.Plural(group.n, group.noun)+" differ")
		}
	}
	return parts
}
