package outcome

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Agent is what a provider knows of its agent beyond what all agents share. It is not changed by its
// methods, which are safe for concurrent use.
type Agent struct {
	// Name is what messages call the agent ("claude").
	Name string
	// Final names what a complete stream ends with ("its result event"). Default "its last word".
	Final string
	// Words are the error words, codes or reasons that only this agent uses, in lower case.
	Words map[string]Class
	// Signs are parts of messages that only this agent writes, the surest first.
	Signs []Sign
	// Hints replace the advice of a class. {agent} stands for Name.
	Hints map[Class]string
}

// Sign is a class of errors, known by parts of the message.
type Sign struct {
	Class Class
	// Texts are the parts, in lower case; one of them is enough.
	Texts []string
	// Hint replaces the advice of the class. Optional.
	Hint string
}

// Fault is an error as the agent or the API told of it. Any part may be missing; the zero value is no
// error at all.
type Fault struct {
	// Words are what the error calls itself: code, type, reason, the surest first.
	Words []string
	// Status is the HTTP status of the API, 0 if it is not known.
	Status int
	// Message is the text for a person.
	Message string
	// RetryAfter is how long the service asked to wait, see [RetryAfter]. 0 looks for it in Message.
	RetryAfter time.Duration
}

// told reports whether there is an error at all.
func (f Fault) told() bool {
	return f.Status != 0 || f.Message != "" || slices.ContainsFunc(f.Words, func(w string) bool { return w != "" })
}

// Reason is what is known of a fault.
type Reason struct {
	// Class is [Failed] where nothing is known.
	Class Class
	// RetryAfter is how long to wait, 0 if nobody said.
	RetryAfter time.Duration

	hint string
}

// Classify finds the class of a fault. What says something specific counts first, in the order words,
// signs in the message, status, words and status in the message; then, in the same order, what only
// says that something went wrong. Now is when the fault was told, to read a time of day in the message;
// the zero value reads none.
func (a Agent) Classify(f Fault, now time.Time) Reason {
	f.Message = f.Message[:min(len(f.Message), messageMax)]
	found := slices.Concat(a.byWords(f.Words), a.byText(f.Message), byStatus(f.Status), a.byWords(wordsIn(f.Message)), byStatus(statusIn(f.Message)))
	r := Reason{Class: Failed}
	if i := slices.IndexFunc(found, func(r Reason) bool { return r.Class.specific() }); i >= 0 {
		r = found[i]
	} else if len(found) > 0 {
		r = found[0]
	}
	if r.Class.Waits() {
		r.RetryAfter = cmp.Or(min(max(f.RetryAfter, 0), maxWait), waitIn(f.Message, now))
	}
	return r
}

func (a Agent) byWords(words []string) []Reason {
	var found []Reason
	for _, w := range words {
		w = strings.ToLower(w)
		if c, ok := a.Words[w]; ok {
			found = append(found, Reason{Class: c})
		} else if c, ok := apiWords[w]; ok {
			found = append(found, Reason{Class: c})
		}
	}
	return found
}

// byText finds the first sign in a message, the agent's own before those that all share.
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
	// wordPattern matches error words that stand in a message, as in {"type":"rate_limit_error"}.
	wordPattern = regexp.MustCompile(`[a-z][a-z0-9]*(?:_[a-z0-9]+)+`)
	// statusPattern matches a status, as in "unexpected status 503", "API Error: 529", "rejected (429)".
	statusPattern = regexp.MustCompile(`(?:\bstatus(?: code)?|\berror|\bhttp(?:/\d(?:\.\d)?)?)[:=]? ?\(?([45]\d\d)\b|\brejected \(([45]\d\d)\)`)
)

// Bounds of what is looked at: bytes of a message, words in it. An error is told at the beginning.
const (
	messageMax = 16 << 10
	wordsMax   = 100
)

func wordsIn(message string) []string {
	return wordPattern.FindAllString(strings.ToLower(message), wordsMax)
}

func statusIn(message string) int {
	m := statusPattern.FindStringSubmatch(strings.ToLower(message))
	if m == nil {
		return 0
	}
	status, _ := strconv.Atoi(cmp.Or(m[1], m[2])) // three digits
	return status
}
