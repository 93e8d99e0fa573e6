package tokens

import (
	"regexp"
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Counter counts the tokens of a text. It is safe for concurrent use.
type Counter func(text string) int

// perToken is the assumed number of characters of a token of an unknown vocabulary.
const perToken = 4

// public matches the models whose vocabulary is public: the models of OpenAI since gpt-4o (o200k_base).
var public = regexp.MustCompile(`^(gpt-(4o|4\.1|4\.5|5|oss)|chatgpt-|codex-|o[134](-|$))`)

// o200k is loaded when it counts the first text, because it takes some 17 MB of memory.
var o200k = sync.OnceValue(codec.NewO200kBase)

// For returns the counter for a model. model is the name that its provider uses, "" for an unknown model.
func For(model string) Counter {
	if !public.MatchString(model) {
		return Estimate
	}
	return func(text string) int {
		n, err := o200k().Count(text)
		if err != nil { // the library could not split the text
			return Estimate(text)
		}
		if n == 0 { // the library's vocabulary leaves out the byte 0x7F
			return min(len(text), 1)
		}
		return n
	}
}

// Estimate counts four characters as a token, rounded up.
func Estimate(text string) int {
	return (utf8.RuneCountInString(text) + perToken - 1) / perToken
}
