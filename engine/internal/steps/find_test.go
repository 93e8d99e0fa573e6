package steps

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

func data(t testing.TB, text string) map[string]any {
	t.Helper()
	var m map[string]any
	testkit.OK(t, json.Unmarshal([]byte(text), &m))
	return m
}

// DIALECT B2, U160: Find returns the steps that a path leads to, with their dependencies.
func TestFind(t *testing.T) {
	for _, tt := range []struct {
		name, path, data string
		want             map[string]string // by id, the dependencies
		order            string
	}{
		{"a list", "steps", `{"steps":[{"id":"b"},{"id":"a","depends_on":"b"}]}`, map[string]string{"b": "", "a": "b"}, "b a"},
		{"marked as one", "steps[*]", `{"steps":[{"id":"b","depends_on":[]},{"id":"a","depends_on":null}]}`, map[string]string{"b": "", "a": ""}, "b a"},
		{"within an object", "plan.steps", `{"plan":{"steps":[{"id":"a"}]}}`, map[string]string{"a": ""}, "a"},
		{"within lists", "tasks[*].steps[*]", `{"tasks":[{"id":"t1","steps":[{"id":"a"},{"id":"b","depends_on":["a"]}]},{"id":"t2"},{"id":"t3","steps":[{"id":"c"}]}]}`, map[string]string{"a": "", "b": "a", "c": ""}, "a b c"},
		{
			"lists that depend on lists", "tasks[*].steps[*]",
			`{"tasks":[{"id":"t1","steps":[{"id":"a"},{"id":"b"}]},{"id":"t2","depends_on":["t1"],"steps":[{"id":"c"},{"id":"d","depends_on":["c","a"]}]}]}`,
			map[string]string{"a": "", "b": "", "c": "a b", "d": "c a b"},
			"a b c d",
		},
		{
			"through one that is empty", "tasks[*].steps",
			`{"tasks":[{"id":"t1","steps":[{"id":"a"}]},{"id":"t2","depends_on":"t1"},{"id":"t3","depends_on":"t2","steps":[{"id":"b"}]}]}`,
			map[string]string{"a": "", "b": "a"},
			"a b",
		},
		{
			"a step on a list, a list on a step", "tasks[*].steps",
			`{"tasks":[{"id":"t1","steps":[{"id":"a"},{"id":"b"}]},{"id":"t2","depends_on":["a"],"steps":[{"id":"c"}]},{"id":"t3","steps":[{"id":"d","depends_on":["t1"]}]}]}`,
			map[string]string{"a": "", "b": "", "c": "a", "d": "a b"},
			"a b c d",
		},
		{"numbers as ids", "steps", `{"steps":[{"id":"1"},{"id":"2","depends_on":["1","1"]}]}`, map[string]string{"1": "", "2": "1"}, "1 2"},
		{
			"three levels", "phases[*].tasks[*].steps",
			`{"phases":[{"id":"p1","tasks":[{"id":"t1","steps":[{"id":"a"}]}]},{"id":"p2","depends_on":["p1"],"tasks":[{"id":"t2","steps":[{"id":"b"}]},{"id":"t3","depends_on":["t2"],"steps":[{"id":"c"}]}]}]}`,
			map[string]string{"a": "", "b": "a", "c": "b a"},
			"a b c",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			steps := testkit.Must(Find(data(t, tt.data), &plan.Steps{Path: tt.path}))
			got, order := map[string]string{}, []string{}
			for _, s := range steps {
				got[s.ID] = strings.Join(s.DependsOn, " ")
				order = append(order, s.ID)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || strings.Join(order, " ") != tt.order {
				t.Errorf("%s, order %s", diff, order)
			}
		})
	}
}

func TestFindOtherKeys(t *testing.T) {
	steps, err := Find(data(t, `{"s":[{"name":"x"},{"name":"y","after":"x","title":"T","action":"RUN_COMMAND"}]}`), &plan.Steps{Path: "s", ID: "name", DependsOn: "after"})
	if err != nil || len(steps) != 2 || steps[1].ID != "y" || steps[1].Title != "T" || steps[1].Action != "RUN_COMMAND" || !cmp.Equal(steps[1].DependsOn, []string{"x"}) {
		t.Errorf("%+v, %v", steps, err)
	}
}

func TestFindRefuses(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`{"id":"x"},`, MaxSteps+1), ",")
	for _, tt := range []struct{ name, path, data, want string }{
		{"none", "steps", `{"steps":[]}`, "there are no steps at steps[*]"},
		{"no member", "tasks[*].steps", `{}`, "there are no steps at tasks[*].steps[*]"},
		{"no list", "steps", `{"steps":{"id":"a"}}`, "steps is not a list"},
		{"no list within", "tasks[*].steps", `{"tasks":[{"steps":"a"}]}`, "tasks[0].steps is not a list"},
		{"no object", "steps", `{"steps":["a"]}`, "steps[0] is not an object"},
		{"no mark", "tasks.steps", `{"tasks":[{"steps":[]}]}`, "tasks is not an object"},
		{"no id", "steps", `{"steps":[{"id":"a"},{"title":"b"}]}`, `the step steps[1] has no usable id: it is ""`},
		{"a bad id", "steps", `{"steps":[{"id":"a/b"}]}`, `the step steps[0] has no usable id: it is "a/b"`},
		{"a long id", "steps", `{"steps":[{"id":"` + strings.Repeat("a", 65) + `"}]}`, "the step steps[0] has no usable id"},
		{"twice", "tasks[*].steps", `{"tasks":[{"steps":[{"id":"a"}]},{"steps":[{"id":"a"}]}]}`, `the step tasks[1].steps[0] has the id "a", which tasks[0].steps[0] has, too`},
		{"on an unknown step", "steps", `{"steps":[{"id":"a","depends_on":["z"]}]}`, `the step steps[0] depends on "z", which does not exist`},
		{"a list on an unknown step", "tasks[*].steps", `{"tasks":[{"id":"t","depends_on":["z"],"steps":[{"id":"a"}]}]}`, `the step tasks[0] depends on "z", which does not exist`},
		{"on something else", "steps", `{"steps":[{"id":"a","depends_on":{"b":1}}]}`, "the step steps[0] has a depends_on that is not a list of ids"},
		{"on something else in a list", "steps", `{"steps":[{"id":"a","depends_on":[null]}]}`, "the step steps[0] has an item in its depends_on that is not an id"},
		{"on itself", "steps", `{"steps":[{"id":"a","depends_on":["a"]}]}`, "the steps depend on each other in a circle: a -> a"},
		{"in a circle", "steps", `{"steps":[{"id":"x","depends_on":["a"]},{"id":"a","depends_on":["b"]},{"id":"b","depends_on":["c"]},{"id":"c","depends_on":["a"]}]}`, "the steps depend on each other in a circle: a -> b -> c -> a"},
		{"lists in a circle", "t[*].steps", `{"t":[{"id":"t1","depends_on":["t2"],"steps":[{"id":"a"}]},{"id":"t2","depends_on":["t1"],"steps":[{"id":"b"}]}]}`, "circle: a -> b -> a"},
		{"too many", "steps", `{"steps":[` + many + `]}`, "there are 501 steps at steps[*], at most 500 can be made"},
		{"no path", "a..b", `{}`, `path "a..b" has an invalid part ""`},
		{"an index", "a[0]", `{}`, `path "a[0]" has an invalid part "a[0]"`},
		{"a long path", "a.b.c.d.e.f.g.h.i.j.k", `{}`, "more than 10 parts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if steps, err := Find(data(t, tt.data), &plan.Steps{Path: tt.path}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, %v, want %s", steps, err, tt.want)
			}
		})
	}
}

// A parsed path equals its full form, parsed again. For all data Find returns an error, or steps that can be ordered by
// their dependencies.
func FuzzFind(f *testing.F) {
	f.Add("tasks[*].steps[*]", []byte(`{"tasks":[{"id":"t1","steps":[{"id":"a"}]},{"id":"t2","depends_on":["t1"],"steps":[{"id":"b","depends_on":"a"}]}]}`))
	f.Add("steps", []byte(`{"steps":[{"id":"a","depends_on":["b"]},{"id":"b"}]}`))
	f.Add("a.b[*].c", []byte(`{"a":{"b":[{"id":"x","depends_on":"x"}]}}`))
	f.Fuzz(func(t *testing.T, path string, text []byte) {
		p, err := plan.ParseStepPath(path)
		if err != nil {
			return
		}
		again, err := plan.ParseStepPath(p.String())
		if err != nil || !cmp.Equal(p, again) {
			t.Fatalf("%q is read as %q, then as %q: %v", path, p, again, err)
		}
		var m map[string]any
		if json.Unmarshal(text, &m) != nil {
			return
		}
		steps, err := Find(m, &plan.Steps{Path: path})
		if err != nil {
			return
		}
		left := map[string][]string{}
		for _, s := range steps {
			left[s.ID] = s.DependsOn
		}
		if len(left) != len(steps) {
			t.Fatalf("ids stand twice: %v", steps)
		}
		for len(left) > 0 {
			before := len(left)
			for id, on := range left {
				ready := true
				for _, other := range on {
					_, waits := left[other]
					ready = ready && !waits
				}
				if ready {
					delete(left, id)
				}
			}
			if len(left) == before {
				t.Fatalf("no order for %v", left)
			}
		}
	})
}
