package explain

import (
	_ "embed"
	"regexp"
	"strings"
)

// Document is the content of codes.md in Markdown. Each entry has a heading of level 3, "CODE: title" or an error_type.
//
//go:embed codes.md
var Document string

// Entry explains one error code, error_type or exit code.
type Entry struct {
	Name  string `json:"name"`  // AP-YAML-105, provider_timeout, 22
	Title string `json:"title"` // one line; "" for an error_type, which explains itself
	Text  string `json:"text"`  // Markdown, some paragraphs
}

var heading = regexp.MustCompile(`(?m)^##+ .*\n`)

// All returns the entries in the order of the document. Only headings of level 3 begin an entry.
func All() []Entry {
	var all []Entry
	at := heading.FindAllStringIndex(Document, -1)
	for i, h := range at {
		end := len(Document)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		if name, found := strings.CutPrefix(strings.TrimSpace(Document[h[0]:h[1]]), "### "); found {
			name, title, _ := strings.Cut(name, ": ")
			all = append(all, Entry{name, title, strings.TrimSpace(Document[h[1]:end])})
		}
	}
	return all
}

// Find returns the entry of an error code, error_type or exit code; it ignores case.
func Find(name string) (Entry, bool) {
	for _, e := range All() {
		if strings.EqualFold(e.Name, name) {
			return e, true
		}
	}
	return Entry{}, false
}

// Names returns the names of all entries, in the order of the document.
func Names() []string {
	var names []string
	for _, e := range All() {
		names = append(names, e.Name)
	}
	return names
}
