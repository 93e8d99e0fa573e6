package steps

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// item is an object that a path leads to or through.
type item struct {
	place string // "tasks[0].steps[2]"
	value map[string]any
	outer *item   // the item around this item, in the list before on the path; nil for none
	items []*item // the items of the next list on the path
	leaf  bool
}

// walk finds the items at the path in data. outermost are the items of the path's first list, with the items within
// them. last are the items of the path's last list, in order. A missing or null member counts as an empty list.
func walk(p plan.StepPath, data map[string]any) (outermost, last []*item, err error) {
	w := walker{}
	outermost, err = w.down(p, data, "", nil)
	return outermost, w.last, err
}

type walker struct{ last []*item }

func (w *walker) down(p plan.StepPath, in map[string]any, place string, outer *item) ([]*item, error) {
	name := p[0].Name
	if place += name; in[name] == nil {
		return nil, nil
	}
	if !p[0].Each {
		next, ok := in[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s is not an object", place)
		}
		return w.down(p[1:], next, place+".", outer)
	}
	list, ok := in[name].([]any)
	if !ok {
		return nil, fmt.Errorf("%s is not a list", place)
	}
	var items []*item
	for i := range list {
		it := &item{place: fmt.Sprintf("%s[%d]", place, i), outer: outer}
		if it.value, ok = list[i].(map[string]any); !ok {
			return nil, fmt.Errorf("%s is not an object", it.place)
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
