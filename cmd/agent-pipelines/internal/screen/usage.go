package screen

import (
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Usage says in words what was consumed, "" if nothing is known: "1,204 tokens in, 350 out, $0.0213".
func Usage(u event.Usage) string {
	var parts []string
	if n, known := sum(u.InputTokens, u.CacheReadTokens, u.CacheWriteTokens); known {
		parts = append(parts, Count(n)+" tokens in")
	}
	if u.OutputTokens != nil {
		parts = append(parts, Count(*u.OutputTokens)+" out")
	}
	if u.CostUSD != nil {
		parts = append(parts, Dollars(*u.CostUSD))
	}
	return strings.Join(parts, ", ")
}

// sum adds up what is known; everything that a model read counts as input.
func sum(counts ...*int64) (total int64, known bool) {
	for _, n := range counts {
		if n != nil {
			total += *n
			known = true
		}
	}
	return total, known
}
