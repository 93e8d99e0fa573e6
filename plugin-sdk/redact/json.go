package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Treatment is the treatment of a value in a JSON document.
type Treatment int

// All is the zero value, for documents about which nothing is known.
const (
	RedactAll    Treatment = iota // redacts texts, and names of members that are secrets
	RedactValues                  // redacts texts, keeps names of members
	Keep                          // keeps the value and everything in it
)

// JSON returns a JSON document with its texts redacted as by [Redactor.Field]; elements of a list
// have the list's name. Numbers, order and white space stay unchanged. Invalid JSON is redacted as
// text.
func (r *Redactor) JSON(doc []byte) []byte {
	return r.JSONFunc(doc, func([]string) Treatment { return RedactAll })
}

// JSONFunc is [Redactor.JSON] with a callback for the treatment of each value. names are the
// members that lead to the value, outermost first, without list indices; they are valid during the
// call. The callback is called for each member of an object unless the object is left.
func (r *Redactor) JSONFunc(doc []byte, care func(names []string) Treatment) []byte {
	if r.certainlyClean(doc) {
		return doc
	}
	if !json.Valid(doc) {
		return []byte(r.Text(string(doc)))
	}
	w := &walker{redactor: r, care: care, doc: doc}
	w.value()
	if !w.changed {
		return doc
	}
	return append(w.out, doc[w.copied:]...)
}

// secretWords has a part of every name for which Secret is true, in lower case.
var secretWords = []string{
	"passw", "passphrase", "pwd", "secret", "token", "apikey", "api_key", "api-key", "credential", "bearer",
	"private", "access", "auth",
}

// certainlyClean reports whether a document certainly contains no secret, which is true of most and much
// cheaper than inspecting each string. Escapes prevent certainty.
func (r *Redactor) certainlyClean(doc []byte) bool {
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

// walker walks a valid document and copies the changed values and the text before them.
type walker struct {
	redactor *Redactor
	care     func([]string) Treatment
	doc, out []byte
	at       int // offset of the next byte
	copied   int // number of document bytes already in out
	changed  bool
	names    []string
}

func (w *walker) value() {
	care := w.care(w.names)
	w.skipSpace()
	switch w.doc[w.at] {
	case '{':
		w.members(care)
	case '[':
		w.elements(care)
	case '"':
		from, text := w.readString()
		if care != Keep {
			name := ""
			if len(w.names) > 0 {
				name = w.names[len(w.names)-1]
			}
			w.replace(from, text, w.redactor.Field(name, text))
		}
	default:
		for w.at < len(w.doc) && !strings.ContainsRune(",]} \t\r\n", rune(w.doc[w.at])) {
			w.at++
		}
	}
}

func (w *walker) members(care Treatment) {
	if care == Keep {
		w.skip()
		return
	}
	w.at++
	for w.skipSpace(); w.doc[w.at] != '}'; w.skipSpace() {
		if w.doc[w.at] == ',' {
			w.at++
			continue
		}
		from, name := w.readString()
		if care == RedactAll {
			w.replace(from, name, w.redactor.Text(name))
		}
		w.skipSpace()
		w.at++ // skip the colon
		w.names = append(w.names, name)
		w.value()
		w.names = w.names[:len(w.names)-1]
	}
	w.at++
}

func (w *walker) elements(care Treatment) {
	if care == Keep {
		w.skip()
		return
	}
	w.at++
	for w.skipSpace(); w.doc[w.at] != ']'; w.skipSpace() {
		if w.doc[w.at] == ',' {
			w.at++
			continue
		}
		w.value()
	}
	w.at++
}

// skip moves past an object or a list.
func (w *walker) skip() {
	for depth := 0; ; {
		switch w.doc[w.at] {
		case '"':
			w.readString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		w.at++
		if depth == 0 {
			return
		}
	}
}

func (w *walker) skipSpace() {
	for w.at < len(w.doc) && strings.IndexByte(" \t\r\n", w.doc[w.at]) >= 0 {
		w.at++
	}
}

// readString moves past a string and returns its offset and its text.
func (w *walker) readString() (from int, text string) {
	from = w.at
	escaped := false
	for w.at++; w.doc[w.at] != '"'; w.at++ {
		if w.doc[w.at] == '\\' {
			escaped = true
			w.at++
		}
	}
	w.at++
	if !escaped {
		return from, string(w.doc[from+1 : w.at-1])
	}
	_ = json.Unmarshal(w.doc[from:w.at], &text) // a string of a valid document
	return from, text
}

// replace substitutes text for the string that ends here.
func (w *walker) replace(from int, was, text string) {
	if text == was {
		return
	}
	w.changed = true
	w.out = append(w.out, w.doc[w.copied:from]...)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // strings always encode
	w.out = append(w.out, bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...)
	w.copied = w.at
}
