package contextstrategy

import (
	"regexp"
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

// TokenCounter counts the tokens of a text. It is safe for concurrent use.
type TokenCounter func(text string) int

// charactersPerToken is the assumed number of characters of a token of an unknown vocabulary.
const charactersPerToken = 4

// publicVocabulary matches the models whose vocabulary is public: the models of OpenAI since gpt-4o (o200k_base).
var publicVocabulary = regexp.MustCompile(`^(gpt-(4o|4\.1|4\.5|5|oss)|chatgpt-|codex-|o[134](-|$))`)

// o200k is loaded when it counts the first text, because it takes some 17 MB of memory.
var o200k = sync.OnceValue(codec.NewO200kBase)

// NewTokenCounter returns the counter for a model. model is the name that its provider uses, "" for an unknown model.
func NewTokenCounter(model string) TokenCounter {
	if !publicVocabulary.MatchString(model) {
		return EstimateTokens
	}
	return func(text string) int {
		n, err := o200k().Count(text)
		if err != nil { // the library could not split the text
			return EstimateTokens(text)
		}
		if n == 0 { // the library's vocabulary leaves out the byte 0x7F
			return min(len(text), 1)
		}
		return n
	}
}

// EstimateTokens counts four characters as a token, rounded up.
func EstimateTokens(text string) int {
	return (utf8.RuneCountInString(text) + charactersPerToken - 1) / charactersPerToken
}
