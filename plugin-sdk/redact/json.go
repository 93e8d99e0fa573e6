package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Treatment selects the parts of a value in a JSON document that are redacted.
type Treatment int

// RedactAll is the zero value, for documents of unknown form.
const (
	RedactAll    Treatment = iota // redacts texts, and secrets in names of members
	RedactValues                  // redacts texts, keeps names of members
	Keep                          // keeps the value and everything in it
)

// JSON returns a JSON document with its texts redacted as by [Redactor.Field]; elements of a list
// are redacted by the list's name. Numbers, order and white space stay unchanged. Invalid JSON is
// redacted as text.
func (r *Redactor) JSON(doc []byte) []byte {
	return r.JSONFunc(doc, func([]string) Treatment { return RedactAll })
}

// JSONFunc is [Redactor.JSON] with a callback for the treatment of each value. names are the
// members that lead to the value, outermost first, without list indices; they are valid during the
// call. The callback is not called for the parts of a kept value. It is not called at all if the
// document is invalid or certainly contains no secret.
func (r *Redactor) JSONFunc(doc []byte, care func(names []string) Treatment) []byte {
	if r.hasNoSecret(doc) {
		return doc
	}
	if !json.Valid(doc) {
		return []byte(r.Text(string(doc)))
	}
	w := &walker{redactor: r, care: care, doc: doc, tokens: json.NewDecoder(bytes.NewReader(doc))}
	w.tokens.UseNumber()
	w.value()
	if w.out == nil {
		return doc
	}
	return append(w.out, doc[w.copied:]...)
}

// secretWords has a part of every name for which [IsSecretName] returns true, in lower case.
var secretWords = []string{
	"passw", "passphrase", "pwd", "secret", "token", "apikey", "api_key", "api-key", "credential", "bearer",
	"private", "access", "auth",
}

// hasNoSecret reports whether a document certainly contains no secret. Most documents contain none, and this check
// is much cheaper than inspecting each string. It returns false for a document with escapes, and if r has patterns.
func (r *Redactor) hasNoSecret(doc []byte) bool {
	if bytes.IndexByte(doc, '\\') >= 0 || r != nil && len(r.patterns) > 0 {
		return false
	}
	lower := strings.ToLower(string(doc))
	has := func(word string) bool { return strings.Contains(lower, word) }
	for i := range prefixRules {
		if slices.ContainsFunc(prefixRules[i].hints, has) {
			return false
		}
	}
	if r != nil && slices.ContainsFunc(r.values, func(v value) bool { return bytes.Contains(doc, []byte(v.text)) }) {
		return false
	}
	if r.isAgent() {
		return true
	}
	for i := range nameRules {
		if nameRules[i].name != memberRule && slices.ContainsFunc(nameRules[i].hints, has) {
			return false
		}
	}
	return !slices.ContainsFunc(secretWords, has)
}

// walker walks a valid document and copies the changed strings, and the text before each, to out.
type walker struct {
	redactor *Redactor
	care     func([]string) Treatment
	doc, out []byte
	tokens   *json.Decoder
	copied   int // number of document bytes already in out
	names    []string
}

// next returns the next token; it does not fail in a valid document.
func (w *walker) next() json.Token {
	token, _ := w.tokens.Token()
	return token
}

func (w *walker) value() {
	care := w.care(w.names)
	if care == Keep {
		var kept json.RawMessage
		_ = w.tokens.Decode(&kept)
		return
	}
	before := w.tokens.InputOffset()
	switch token := w.next().(type) {
	case json.Delim:
		for w.tokens.More() {
			if token == '[' {
				w.value()
			} else {
				w.member(care)
			}
		}
		w.next() // the closing delimiter
	case string:
		name := ""
		if len(w.names) > 0 {
			name = w.names[len(w.names)-1]
		}
		w.replace(before, token, w.redactor.Field(name, token))
	}
}

func (w *walker) member(care Treatment) {
	before := w.tokens.InputOffset()
	name, _ := w.next().(string)
	if care == RedactAll {
		w.replace(before, name, w.redactor.Text(name))
	}
	w.names = append(w.names, name)
	w.value()
	w.names = w.names[:len(w.names)-1]
}

// replace substitutes text for the string token that was just read; before is the end of the token
// before it.
func (w *walker) replace(before int64, was, text string) {
	if text == was {
		return
	}
	from := int(before) + bytes.IndexByte(w.doc[before:], '"')
	w.out = append(w.out, w.doc[w.copied:from]...)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // strings always encode
	w.out = append(w.out, bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...)
	w.copied = int(w.tokens.InputOffset())
}
