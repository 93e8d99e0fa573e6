package step

import (
	"fmt"
	"regexp"
	"strings"
)

// Path leads from an artifact to the items of a list, through lists: "tasks[*].steps[*]".
type Path []part

// part is a member, and whether the path goes on in each item of its list.
type part struct {
	name string
	each bool
}

// maxParts bounds a path.
const maxParts = 10

var partPattern = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*)(\[\*\])?$`)

// ParsePath reads a path: names with dots between them, each followed by [*] where it names a list. Behind the last name
// [*] may be left out.
func ParsePath(text string) (Path, error) {
	parts := strings.Split(text, ".")
	if len(parts) > maxParts {
		return nil, fmt.Errorf("the path %.80q has more than %d parts", text, maxParts)
	}
	p := make(Path, len(parts))
	for i, of := range parts {
		m := partPattern.FindStringSubmatch(of)
		if m == nil {
			return nil, fmt.Errorf("the path %.80q has the part %.40q: want names with dots between them, and [*] behind those of lists, as in tasks[*].steps[*]", text, of)
		}
		p[i] = part{m[1], m[2] != "" || i == len(parts)-1}
	}
	return p, nil
}

// String is the path as it is written in full.
func (p Path) String() string {
	names := make([]string, len(p))
	for i, of := range p {
		names[i] = of.name
		if of.each {
			names[i] += "[*]"
		}
	}
	return strings.Join(names, ".")
}

// item is an object that a path leads to or through.
type item struct {
	place string // "tasks[0].steps[2]"
	value map[string]any
	outer *item   // the item of the list before it on the path, nil for none
	items []*item // those of the next list on the path
	leaf  bool
}

// walk finds what the path leads to in data: the items of its first list, with those within them, and the last ones in
// their order. A member that is missing or null is an empty list.
func (p Path) walk(data map[string]any) (outermost, last []*item, err error) {
	w := walker{}
	outermost, err = w.down(p, data, "", nil)
	return outermost, w.last, err
}

type walker struct{ last []*item }

func (w *walker) down(p Path, in map[string]any, place string, outer *item) ([]*item, error) {
	name := p[0].name
	if place += name; in[name] == nil {
		return nil, nil
	}
	if !p[0].each {
		next, ok := in[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s is no object", place)
		}
		return w.down(p[1:], next, place+".", outer)
	}
	list, ok := in[name].([]any)
	if !ok {
		return nil, fmt.Errorf("%s is no list", place)
	}
	var items []*item
	for i := range list {
		it := &item{place: fmt.Sprintf("%s[%d]", place, i), outer: outer}
		if it.value, ok = list[i].(map[string]any); !ok {
			return nil, fmt.Errorf("%s is no object", it.place)
		}
		items = append(items, it)
		if len(p) == 1 {
			it.leaf = true
			w.last = append(w.last, it)
			continue
		}
		var err error
		if it.items, err = w.down(p[1:], it.value, it.place+".", it); err != nil {
			return nil, err
		}
	}
	return items, nil
}
