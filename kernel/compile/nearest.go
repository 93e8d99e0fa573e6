package compile

import (
	"fmt"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// didYouMean is the hint for a wrong name: the nearest one and what there is.
func didYouMean(name string, candidates []string) string {
	candidates = sortedUnique(slices.Clone(candidates))
	near := nearest.Name(name, candidates)
	switch {
	case near != "" && len(candidates) > 1:
		return fmt.Sprintf("did you mean %q? available: %s", near, strings.Join(candidates, ", "))
	case near != "":
		return fmt.Sprintf("did you mean %q?", near)
	case len(candidates) == 0:
		return "none is available"
	default:
		return "available: " + strings.Join(candidates, ", ")
	}
}

// missingHint is the hint for a component that does not exist.
func (c *compiler) missingHint(kind sdk.Kind, name string, candidates []string) string {
	hint := didYouMean(name, candidates)
	if a, ok := c.Catalog.(Adviser); ok {
		if advice := a.Advice(kind, name); advice != "" {
			return advice + "; " + hint
		}
	}
	return hint
}

// sortedUnique sorts in place and drops repetitions and empty strings.
func sortedUnique(list []string) []string {
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	slices.Sort(list)
	return slices.Compact(list)
}
