package outcome

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is an error as reported by the agent or the API. Any part may be missing; the zero value
// means no error.
type Fault struct {
	// Codes are the error's code, type and reason, most reliable first.
	Codes []string
	// Status is the HTTP status of the API, 0 if unknown.
	Status int
	// Message is the text for the user.
	Message string
	// RetryAfter is the wait that the service asked for, see [RetryAfter]. If it is 0, Classify searches
	// Message for a wait.
	RetryAfter time.Duration
}

// isSet reports whether there is an error.
func (f Fault) isSet() bool {
	return f.Status != 0 || f.Message != "" || slices.ContainsFunc(f.Codes, func(w string) bool { return w != "" })
}

// Classify returns the class of a fault. Specific classes take precedence, in the order of their
// sources: codes, signs in the message, status, codes in the message, status in the message.
// Unspecific classes follow in the same order.
//
// now is the time of the fault; a time in the message is converted to a wait from now. If now is zero,
// times in the message are ignored.
func (a Agent) Classify(f Fault, now time.Time) Reason {
	f.Message = f.Message[:min(len(f.Message), messageMax)]
	found := slices.Concat(a.byWords(f.Codes), a.byText(f.Message), byStatus(f.Status), a.byWords(wordPattern.FindAllString(strings.ToLower(f.Message), wordsMax)), byStatus(statusIn(f.Message)))
	r := Reason{Class: Failed}
	if i := slices.IndexFunc(found, func(r Reason) bool { return r.Class.specific() }); i >= 0 {
		r = found[i]
	} else if len(found) > 0 {
		r = found[0]
	}
	if r.Class.MayStateWait() {
		r.RetryAfter = cmp.Or(min(max(f.RetryAfter, 0), maxWait), waitIn(f.Message, now))
	}
	return r
}

func (a Agent) byWords(words []string) []Reason {
	var found []Reason
	for _, w := range words {
		w = strings.ToLower(w)
		if c := cmp.Or(a.Codes[w], apiClass(w)); c != "" {
			found = append(found, Reason{Class: c})
		}
	}
	return found
}

// byText returns the class of the first sign in a message. The agent's own signs precede the shared
// ones.
func (a Agent) byText(message string) []Reason {
	message = strings.ToLower(message)
	for _, signs := range [][]Sign{a.Signs, sharedSigns} {
		for _, s := range signs {
			for _, text := range s.Texts {
				if strings.Contains(message, text) {
					return []Reason{{Class: s.Class, hint: s.Hint}}
				}
			}
		}
	}
	return nil
}

var (
	// wordPattern matches error codes within a message, as in {"type":"rate_limit_error"}.
	wordPattern = regexp.MustCompile(`[a-z][a-z0-9]*(?:_[a-z0-9]+)+`)
	// statusPattern matches a status, as in "unexpected status 503", "API Error: 529", "rejected (429)".
	statusPattern = regexp.MustCompile(`(?:\bstatus(?: code)?|\berror|\bhttp(?:/\d(?:\.\d)?)?)[:=]? ?\(?([45]\d\d)\b|\brejected \(([45]\d\d)\)`)
)

// Limits of the inspected part of a message, in bytes and error codes. A message states its error
// at the beginning.
const (
	messageMax = 16 << 10
	wordsMax   = 100
)

func statusIn(message string) int {
	m := statusPattern.FindStringSubmatch(strings.ToLower(message))
	if m == nil {
		return 0
	}
	status, _ := strconv.Atoi(cmp.Or(m[1], m[2])) // three digits
	return status
}
