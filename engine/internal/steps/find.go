package steps

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// MaxSteps is the maximum number of a node's steps.
const MaxSteps = 500

// Step is a step of a node.
type Step struct {
	ID        string
	Title     string
	Action    string
	DependsOn []string // ids, each once, in the order in which they were named
	Item      map[string]any
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

const maxID = 64 // bytes

// Find finds the steps in the data of an artifact. Errors name the faulty step and the reason: an invalid or repeated
// id, an unknown or circular dependency, no steps, too many steps.
func Find(data map[string]any, s *plan.Steps) ([]Step, error) {
	path, err := plan.ParseStepPath(s.Path)
	if err != nil {
		return nil, err
	}
	outermost, last, err := walk(path, data)
	switch {
	case err != nil:
		return nil, err
	case len(last) == 0:
		return nil, fmt.Errorf("there are no steps at %s", path)
	case len(last) > MaxSteps:
		return nil, fmt.Errorf("there are %d steps at %s, at most %d can be made", len(last), path, MaxSteps)
	}
	f := finder{idKey: cmp.Or(s.ID, "id"), dependsKey: cmp.Or(s.DependsOn, "depends_on"), byID: map[string]*item{}, outer: map[string][]*item{}}
	if err := f.readIDs(last); err != nil {
		return nil, err
	}
	f.readOuter(outermost)
	steps := make([]Step, len(last))
	for i, it := range last {
		on, err := f.dependencies(it)
		if err != nil {
			return nil, err
		}
		steps[i] = Step{ID: f.itemID(it), Title: text(it.value["title"]), Action: text(it.value["action"]), DependsOn: on, Item: it.value}
	}
	if circle := findCycle(steps); circle != nil {
		return nil, fmt.Errorf("the steps depend on each other in a circle: %s", strings.Join(circle, " -> "))
	}
	return steps, nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// finder knows the items by their ids.
type finder struct {
	idKey, dependsKey string
	byID              map[string]*item   // steps
	outer             map[string][]*item // items that contain steps
}

// itemID returns the id of an item, "" without one.
func (f *finder) itemID(it *item) string { return idText(it.value[f.idKey]) }

func (f *finder) readIDs(steps []*item) error {
	for _, it := range steps {
		id := f.itemID(it)
		if len(id) > maxID || !idPattern.MatchString(id) {
			return fmt.Errorf("the step %s has no usable %s: it is %.70q, and has to be 1 to 64 letters, digits, dots, underscores and hyphens", it.place, f.idKey, id)
		}
		if first, twice := f.byID[id]; twice {
			return fmt.Errorf("the step %s has the %s %q, which %s has, too", it.place, f.idKey, id, first.place)
		}
		f.byID[id] = it
	}
	return nil
}

func (f *finder) readOuter(items []*item) {
	for _, it := range items {
		if it.leaf {
			continue
		}
		if id := f.itemID(it); id != "" {
			f.outer[id] = append(f.outer[id], it)
		}
		f.readOuter(it.items)
	}
}

// dependencies returns the ids of the steps that a step depends on: its own dependencies, and those of the items around
// it. A dependency on an item means all steps within the item.
func (f *finder) dependencies(step *item) ([]string, error) {
	c := collector{finder: f, seen: map[*item]bool{}}
	err := c.named(step)
	for around := step.outer; around != nil && err == nil; around = around.outer {
		err = c.named(around)
	}
	return c.ids, err
}

// find returns the step with a name, or the items around steps with that name. If both exist, a dependency of a step
// means the step, and a dependency of an item around steps means the items.
func (f *finder) find(name string, by *item) []*item {
	outer := f.outer[name]
	if step := f.byID[name]; step != nil && (by.leaf || outer == nil) {
		return []*item{step}
	}
	return outer
}

// collector gathers the dependencies of one step.
type collector struct {
	*finder
	ids  []string
	seen map[*item]bool
}

// named adds the items that an item depends on.
func (c *collector) named(it *item) error {
	names, err := c.dependencyNames(it)
	if err != nil {
		return err
	}
	for _, name := range names {
		others := c.find(name, it)
		if len(others) == 0 {
			return fmt.Errorf("the step %s depends on %.70q, which does not exist", it.place, name)
		}
		for _, other := range others {
			if err := c.add(other); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds a step, or all steps within an item. An item without steps passes on its own dependencies.
func (c *collector) add(it *item) error {
	switch {
	case c.seen[it]:
		return nil
	case it.leaf:
		c.ids = append(c.ids, c.itemID(it))
	case len(it.items) == 0:
		c.seen[it] = true
		return c.named(it)
	}
	c.seen[it] = true
	for _, inner := range it.items {
		if err := c.add(inner); err != nil {
			return err
		}
	}
	return nil
}

// dependencyNames returns the names in an item's list of dependencies; a single name may be a text.
func (c *collector) dependencyNames(it *item) ([]string, error) {
	var names []string
	switch v := it.value[c.dependsKey].(type) {
	case nil:
	case []any:
		for _, name := range v {
			text := idText(name)
			if text == "" {
				return nil, fmt.Errorf("the step %s has an item in its %s that is not an id", it.place, c.dependsKey)
			}
			names = append(names, text)
		}
	default:
		text := idText(v)
		if text == "" && v != "" {
			return nil, fmt.Errorf("the step %s has a %s that is not a list of ids", it.place, c.dependsKey)
		}
		if text != "" {
			names = []string{text}
		}
	}
	return names, nil
}

// idText returns an id as text; a number counts as its digits.
func idText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	default:
		return ""
	}
}

// findCycle returns the ids along a cycle of dependencies, nil if there is none.
func findCycle(steps []Step) []string {
	on := map[string][]string{}
	for _, s := range steps {
		on[s.ID] = s.DependsOn
	}
	done, path := map[string]bool{}, []string{}
	var visit func(id string) []string
	visit = func(id string) []string {
		if i := slices.Index(path, id); i >= 0 {
			return append(slices.Clone(path[i:]), id)
		}
		if done[id] {
			return nil
		}
		done[id] = true
		path = append(path, id)
		for _, next := range on[id] {
			if circle := visit(next); circle != nil {
				return circle
			}
		}
		path = path[:len(path)-1]
		return nil
	}
	for _, s := range steps {
		if circle := visit(s.ID); circle != nil {
			return circle
		}
	}
	return nil
}
