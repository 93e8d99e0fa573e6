package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Care says how a value of a JSON document is treated.
type Care int

// All is the zero value: texts of any document, of which nothing else is known.
const (
	All    Care = iota // its texts are redacted, and names of members that are secrets
	Values             // the names of its members stay
	Leave              // it stays as it is, with all that it holds
)

// JSON is a document of JSON whose texts have no secrets any more, as [Redactor.Field] takes them out of a member and of
// the elements of a member that is a list; numbers, order and white space stay as they are. What is no JSON is a text.
func (r *Redactor) JSON(doc []byte) []byte {
	return r.JSONFunc(doc, func([]string) Care { return All })
}

// JSONFunc is JSON that asks of every value how to treat it. names are those of the members that lead to it, the
// outermost first, without the places in lists; they are valid during the call. What holds for the members of an
// object is asked for each of them, unless the object is left.
func (r *Redactor) JSONFunc(doc []byte, care func(names []string) Care) []byte {
	if r.quiet(doc) {
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

// secretWords are in every name that is Secret, in lower case.
var secretWords = []string{
	"passw", "passphrase", "pwd", "secret", "token", "apikey", "api_key", "api-key", "credential", "bearer",
	"private", "access", "auth",
}

// quiet reports whether a document surely holds no secret: most do not, and finding out is much cheaper than
// looking at each string. What is escaped is looked at.
func (r *Redactor) quiet(doc []byte) bool {
	if bytes.IndexByte(doc, '\\') >= 0 || r != nil && len(r.patterns) > 0 {
		return false
	}
	lower := strings.ToLower(string(doc))
	has := func(word string) bool { return strings.Contains(lower, word) }
	for i := range prefixed {
		if slices.ContainsFunc(prefixed[i].hints, has) {
			return false
		}
	}
	if r != nil && slices.ContainsFunc(r.values, func(v value) bool { return bytes.Contains(doc, []byte(v.text)) }) {
		return false
	}
	if r.isAgent() {
		return true
	}
	for i := range named {
		if named[i].name != memberRule && slices.ContainsFunc(named[i].hints, has) {
			return false
		}
	}
	return !slices.ContainsFunc(secretWords, has)
}

// walker goes over a valid document and copies what changes and what is before it.
type walker struct {
	redactor *Redactor
	care     func([]string) Care
	doc, out []byte
	at       int // the next byte
	copied   int // how much of the document is in out
	changed  bool
	names    []string
}

func (w *walker) value() {
	care := w.care(w.names)
	w.space()
	switch w.doc[w.at] {
	case '{':
		w.members(care)
	case '[':
		w.elements(care)
	case '"':
		from, text := w.text()
		if care != Leave {
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

func (w *walker) members(care Care) {
	if care == Leave {
		w.pass()
		return
	}
	w.at++
	for w.space(); w.doc[w.at] != '}'; w.space() {
		if w.doc[w.at] == ',' {
			w.at++
			continue
		}
		from, name := w.text()
		if care == All {
			w.replace(from, name, w.redactor.Text(name))
		}
		w.space()
		w.at++ // the colon
		w.names = append(w.names, name)
		w.value()
		w.names = w.names[:len(w.names)-1]
	}
	w.at++
}

func (w *walker) elements(care Care) {
	if care == Leave {
		w.pass()
		return
	}
	w.at++
	for w.space(); w.doc[w.at] != ']'; w.space() {
		if w.doc[w.at] == ',' {
			w.at++
			continue
		}
		w.value()
	}
	w.at++
}

// pass goes behind an object or a list.
func (w *walker) pass() {
	for depth := 0; ; {
		switch w.doc[w.at] {
		case '"':
			w.text()
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

func (w *walker) space() {
	for w.at < len(w.doc) && strings.IndexByte(" \t\r\n", w.doc[w.at]) >= 0 {
		w.at++
	}
}

// text goes behind a string and returns where it began, and its text.
func (w *walker) text() (from int, text string) {
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

// replace puts a text in the place of the string that ends here.
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
