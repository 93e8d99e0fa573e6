package condition_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/condition"
)

var testVars = condition.Vars{
	Iteration: 10, Stage: "research", Session: "auth", Provider: "claude", Status: "success", Event: "iteration_end",
}

// U243: conditions use the elements of the language and the six variables.
func TestEval(t *testing.T) {
	for text, want := range map[string]bool{
		"iteration % 5 == 0":                  true,
		"iteration % 3 == 0":                  false,
		"iteration > 10":                      false,
		"iteration >= 10":                     true,
		"iteration < 11 && iteration <= 10":   true,
		"iteration != 10 || iteration == 010": true,
		`stage == "research"`:                 true,
		`stage == 'research'`:                 true,
		"stage == `research`":                 true,
		"iteration % 3 == 1 && iteration > 5": true,
		`session == "auth" && provider == "claude" && event == "iteration_end" && status != "fail"`: true,
		`stage in ["plan", "research"]`: true, `!(stage in ["plan"])`: true, `iteration in [1, 2]`: false,
		`stage matches "^re.*ch$"`: true, `stage matches "^x"`: false,
		"true": true, "!true": false, "(1 == 1) == true": true, `"a" < "b"`: true, "1 < 2 == true": true,
		"iteration == 10\n  && stage == \"research\"": true,
		"false && iteration % (iteration % 2) == 0":   false, // unneeded operands are not evaluated
	} {
		c, err := condition.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := c.Eval(testVars)
		if err != nil || got != want {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
}

// U248: faults of values are errors, not panics.
func TestEvalFault(t *testing.T) {
	c, err := condition.Parse("1 % iteration == 0")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Eval(condition.Vars{})
	if want := `condition "1 % iteration == 0": integer divide by zero`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if holds, err := c.Eval(condition.Vars{Iteration: 1}); !holds || err != nil {
		t.Errorf("after a fault: %v, %v", holds, err)
	}
}

// K14: expressions outside of the language are refused, with the position of the fault.
func TestFaults(t *testing.T) {
	const language = " (the language has == != < > <= >= % && || ! in matches, whole numbers, quoted text, true and false)"
	const variables = "the variables are delivery_mode, event, iteration, provider, session, stage, status)"
	const call = "a condition cannot call anything (compare the variables themselves, or write a script for it)"
	const like = " (compare values of one type: iteration is a number, all others are text)"
	const parts = "a variable has no parts (" + variables
	for text, want := range map[string]string{
		"":                                 "1:1: the condition is empty (leave it out if it is always true)",
		" \n":                              "1:1: the condition is empty (leave it out if it is always true)",
		strings.Repeat("x", 4097):          "1:1: a condition has at most 4096 bytes, not 4097 (write a script for it)",
		"iteration ==":                     "1:13: the condition is incomplete",
		"(iteration == 1":                  "1:16: the condition is incomplete",
		`status = "x"`:                     "1:8: = is an assignment (write == to compare)",
		"iteration == 1 & true":            `1:16: unexpected "&"` + language,
		`stage == "x`:                      "1:12: literal not terminated" + language,
		"iteration == 1)":                  `1:15: unexpected ")"` + language,
		"iteration > 99999999999999999999": `1:32: invalid integer literal` + language,

		"iteraton == 1":              `1:1: unknown name "iteraton" (did you mean "iteration"? ` + variables,
		"iteration == 1 &&\n  agent": `2:3: unknown name "agent" (` + variables,
		`"größe" == stag`:            `1:12: unknown name "stag" (did you mean "stage"? ` + variables,
		"$env == 1":                  `1:1: unknown name "$env" (` + variables,
		"len == 1":                   `1:1: unknown name "len" (` + variables,

		"len(stage) > 1":         "1:1: " + call,
		"true && now() == 1":     "1:9: " + call,
		"all([1], # > 1)":        "1:1: " + call,
		"none([1], {# > 1})":     "1:1: " + call,
		"stage.upper() == 'A'":   "1:7: " + call,
		"stage | upper() == 'A'": "1:9: " + call,
		"::len(stage) == 1":      "1:3: " + call,
		"stage()":                "1:1: " + call,

		"stage.x == 1":        "1:7: " + parts,
		"stage[0] == 1":       "1:6: " + parts,
		"stage?.x == 1":       "1:8: " + parts,
		"stage[1:] == 's'":    "1:6: " + parts,
		"true ? true : false": "1:1: this is not part of the language of conditions" + language,
		"let x = 1; x == 1":   "1:5: this is not part of the language of conditions" + language,
		"true; false":         "1:1: this is not part of the language of conditions" + language,
		"{'a': 1} == 1":       "1:1: this is not part of the language of conditions" + language,
		"stage == nil":        "1:10: this is not part of the language of conditions" + language,
		`b"x" == stage`:       "1:1: this is not part of the language of conditions" + language,
		"iteration == 1.5":    "1:14: 1.5 is not a whole number (write a whole number)",
		"iteration / 0 == 1":  "1:11: operator / is not part of the language of conditions" + language,
		"iteration == -1":     "1:14: operator - is not part of the language of conditions" + language,
		"true and true":       "1:6: operator and is not part of the language of conditions (write &&)",
		"true or true":        "1:6: operator or is not part of the language of conditions (write ||)",
		"not true":            "1:1: operator not is not part of the language of conditions (write ! before it, and !(a in b) for a not in b)",
		"stage not in ['a']":  "1:11: operator not is not part of the language of conditions (write ! before it, and !(a in b) for a not in b)",
		"stage contains 'x'":  "1:7: operator contains is not part of the language of conditions (write matches with a pattern)",
		"[1] == [1]":          `1:1: a list is only allowed after in (write it after in: stage in ["a", "b"])`,

		"iteration == '3'":      "1:11: == cannot compare a number with text" + like,
		"iteration == true":     "1:11: == cannot compare a number with true or false" + like,
		"true < false":          "1:6: < cannot compare true or false",
		"stage % 2 == 0":        "1:7: % needs a number on both sides, not text",
		"iteration % 0 == 1":    "1:13: division by zero",
		"stage && true":         "1:7: && needs true or false on both sides, not text",
		"!iteration == 1":       "1:1: ! needs true or false, not a number (put parentheses around a comparison: !(a == b))",
		"iteration % 5":         "1:11: a condition must be true or false, not a number (compare it with something)",
		"stage":                 "1:1: a condition must be true or false, not text (compare it with something)",
		"stage in 'abc'":        `1:7: in needs a list on its right side (stage in ["a", "b"])`,
		"stage in 1..3":         `1:7: in needs a list on its right side (stage in ["a", "b"])`,
		"stage in []":           "1:10: the list is empty",
		"stage in ['a', 3]":     "1:16: text cannot be in a list with a number",
		"iteration matches 'x'": "1:11: matches needs text on both sides, not a number",
		"stage matches session": `1:7: matches needs a quoted pattern on its right side (stage matches "^review")`,
		"stage matches '['":     "1:15: missing closing ]: `[` (use the syntax of Go's regexp)",
	} {
		_, err := condition.Parse(text)
		checkFault(t, text, err, want)
	}
}

// checkFault checks that err is the fault of an expression, with its position.
func checkFault(t *testing.T, text string, err error, want string) {
	t.Helper()
	var got *condition.Error
	if !errors.As(err, &got) {
		t.Errorf("%q: %v", text, err)
	} else if diff := cmp.Diff(want, got.Error()); diff != "" {
		t.Errorf("%q (-want +got):\n%s", text, diff)
	}
}

// checkPlace checks that err is a fault at a position inside of the expression.
func checkPlace(t *testing.T, text string, err error) {
	t.Helper()
	var fault *condition.Error
	if !errors.As(err, &fault) {
		t.Fatalf("%q: the error is %T", text, err)
	}
	before := text[:fault.Offset]
	line, column := 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:])
	if fault.Line != line || fault.Column != column || fault.Message == "" {
		t.Fatalf("%q: %+v is not at %d:%d", text, fault, line, column)
	}
}

// A condition can be used concurrently.
func TestEvalConcurrently(t *testing.T) {
	c, err := condition.Parse(`stage matches "^r" && iteration in [1, 3, 5] && 10 % iteration == 0`)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				got, err := c.Eval(condition.Vars{Stage: "r", Iteration: n})
				if want := n == 1 || n == 5; got != want || err != nil {
					t.Errorf("%d: %d: %v, %v", i, n, got, err)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzParse checks that any text is a condition with a result or an error, or has a fault at a position inside of
// it.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"iteration % 5 == 0", `stage == "research" || !(status in ["a", 'b'])`, "len(stage) > 1", "all([1], {# > 1})", "stage?.x[1:2] ?? nil",
		`let a = 1; a in {b: 1}`, "1 % iteration < 0x1F", "a | b(1..2)", "if true { 1 } else { 2 }", "::f(\"\\u{1F600}\")", "stage matches \"(\"", "1 < 2 < 3 // x\n", "b'x' /* */",
		"((((((((", "[[[[[[", "!!!!!!true", "größe == 1", "\xff == 1",
	} {
		f.Add(text, 0, "research")
	}
	f.Fuzz(func(t *testing.T, text string, iteration int, word string) {
		c, err := condition.Parse(text)
		if err != nil {
			checkPlace(t, text, err)
			return
		}
		v := condition.Vars{Iteration: iteration, Stage: word, Session: word, Provider: word, Status: word, Event: word}
		first, err := c.Eval(v)
		again, errAgain := c.Eval(v)
		if first != again || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("%q: %v, %v and then %v, %v", text, first, err, again, errAgain)
		}
	})
}

// intake returns an artifact as it is read: whole numbers are int, others float64.
func intake() map[string]any {
	return map[string]any{
		"request_id": "REQ-1", "priority": "low", "count": 3, "ratio": 0.5, "ready": true, "nothing": nil, "empty": []any{}, "status": "ok",
		"keywords":          []any{"auth", "login"},
		"scope":             map[string]any{"files": 2, "areas": []any{"api"}},
		"initial_questions": []any{map[string]any{"id": "q1", "priority": "optional"}, map[string]any{"id": "q2", "priority": "blocking", "tags": []any{"x"}}},
	}
}

func TestSkipEval(t *testing.T) {
	for text, want := range map[string]bool{
		`none(initial_questions, .priority == "blocking")`:        false,
		`none(initial_questions, .priority == "urgent")`:          true,
		`any(initial_questions, .priority == "blocking")`:         true,
		`any(initial_questions, {#.priority == "blocking"})`:      true,
		`all(initial_questions, .id matches "^q[0-9]$")`:          true,
		`all(empty, .x == 1)`:                                     true,
		`none(empty, .x == 1) && any(keywords, # == "auth")`:      true,
		`any(initial_questions, .tags != nil && len(.tags) == 1)`: true,
		`len(initial_questions) == 2`:                             true,
		`len(keywords) > count`:                                   false,
		`ready`:                                                   true,
		`!ready`:                                                  false,
		`priority == "low" && count >= 3 || ratio > 0.75`:         true,
		`ratio == 0.5 && count == 3.0 && -1 < count`:              true,
		`priority in ["low", "medium"]`:                           true,
		`"auth" in keywords`:                                      true,
		`scope.files == 2 && scope["files"] < 3`:                  true,
		`scope.areas[0] == "api"`:                                 true,
		`missing == nil`:                                          true,
		`nothing == nil`:                                          true,
		`missing == "x"`:                                          false,
		`scope.missing == nil && missing?.deep == nil`:            true,
		`status == "ok" && count == 3`:                            true, // fields may have the names of variables
		`count % 2 == 1`:                                          true,
		`false && len(missing) == 1`:                              false, // unneeded operands are not evaluated
		"any(initial_questions,\n  .priority\n  == \"blocking\")": true,
	} {
		c, err := condition.ParseSkip(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		fields := intake()
		got, err := c.Eval(fields)
		if err != nil || got != want {
			t.Errorf("%s is %v, %v", text, got, err)
		}
		if diff := cmp.Diff(intake(), fields); diff != "" {
			t.Errorf("%s changed the fields: %s", text, diff)
		}
	}
}

// Faults of values are errors, not panics.
func TestSkipEvalFault(t *testing.T) {
	for text, want := range map[string]string{
		`none(missing, .x == 1)`: "all, any and none need a list", `none(priority, .x == 1)`: "", `all(keywords, .x == 1)`: "", `len(count) == 1`: "", `len(missing) == 1`: "",
		`priority < 3`: "", `priority && ready`: "", `scope.areas[1] == 1`: "", `scope.files.x == 1`: "", `"x" in priority`: "", `count matches "x"`: "",
		`1 % missing == 0`: "", `count % 0 == 1`: "", `priority`: `is low, not true or false`, `missing`: "is <nil>", `all(keywords, #)`: "",
	} {
		c, err := condition.ParseSkip(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := c.Eval(intake())
		if err == nil || got || !strings.HasPrefix(err.Error(), fmt.Sprintf("condition %q", text)) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
}

func TestSkipFaults(t *testing.T) {
	const language = " (the language has == != < > <= >= % && || ! in matches, whole numbers, quoted text, true and false, names of fields, a.b, a[0], nil, all, any, none, len)"
	const calls = " (the functions are all, any, none and len)"
	for text, want := range map[string]string{
		"":                        "1:1: the condition is empty (leave it out if it is always true)",
		strings.Repeat("x", 4097): "1:1: a condition has at most 4096 bytes, not 4097 (write a script for it)",
		"count ==":                "1:9: the condition is incomplete",
		`status = "x"`:            "1:8: = is an assignment (write == to compare)",
		"$env == 1":               `1:1: unknown name "$env" (the variables are the fields of the artifact)`,

		"len == 4":                              "1:1: len is a function, not a variable (write len(…), or rename the field)",
		"count(keywords, # == 1) == 1":          "1:1: a condition cannot call count" + calls,
		"filter(keywords, # == 1) == nil":       "1:1: a condition cannot call filter" + calls,
		"now() == 1":                            "1:1: a condition cannot call now" + calls,
		"mine(1)":                               "1:1: a condition cannot call this" + calls,
		"priority.upper() == 'A'":               "1:10: a condition cannot call this" + calls,
		"any(keywords, #index == 1)":            "1:15: #index is not part of the language of conditions (# is the item, .name its field)",
		"any(keywords, 1)":                      "1:15: any needs a condition as its second argument (compare it with something)",
		"any(a, any(.b, any(.c, any(.d, .e))))": "1:24: all, any and none can be nested at most 3 levels deep",
		"any(a, any(b, # == 1))":                "1:12: inside all, any and none, only lists of the item can be searched (begin it with a dot, or #)",
		"any(a, none(.b, any(c.d, # == 1)))":    "1:23: inside all, any and none, only lists of the item can be searched (begin it with a dot, or #)",
		"scope[priority] == 1":                  "1:7: the index in brackets must be constant (write the field's name, or the item's number)",
		"keywords[1:] == 's'":                   "1:9: this is not part of the language of conditions" + language,
		"ready ? true : false":                  "1:1: this is not part of the language of conditions" + language,
		"let x = 1; x == 1":                     "1:5: this is not part of the language of conditions" + language,
		"{'a': 1} == 1":                         "1:1: this is not part of the language of conditions" + language,
		"a ?? b":                                "1:3: operator ?? is not part of the language of conditions (the language has == != < > <= >= % && || ! in matches, whole numbers, quoted text, true and false)",
		"ready and true":                        "1:7: operator and is not part of the language of conditions (write &&)",
		"count + 1 == 2":                        "1:7: operator + is not part of the language of conditions (the language has == != < > <= >= % && || ! in matches, whole numbers, quoted text, true and false)",
		"[1] == [1]":                            `1:1: a list is only allowed after in (write it after in: priority in ["low", "medium"])`,
		"count % 5":                             "1:7: a condition must be true or false (compare it with something)",
		"len(keywords)":                         "1:1: a condition must be true or false (compare it with something)",
		"'x' && ready":                          "1:1: && needs true or false on both sides",
		"priority matches status":               `1:10: matches needs a quoted pattern on its right side (stage matches "^review")`,
		"priority matches '['":                  "1:18: missing closing ]: `[` (use the syntax of Go's regexp)",
	} {
		_, err := condition.ParseSkip(text)
		checkFault(t, text, err, want)
	}
}

// FuzzParseSkip checks that any text and artifact yield a result, an error, or a fault at a position inside of the
// text.
func FuzzParseSkip(f *testing.F) {
	for _, text := range []string{
		`none(questions, .priority == "blocking")`, "any(a, any(.b, # == 1))", "len(a) > 1 && a[0].b?.c != nil", "a in b", "-a < 1.5", "all(a, {#.b[1] matches '^x'})",
		"a.b.c[-1] == 9999999999999999999", "#x", "any(1..9, # > 1)", "a ?? b", "none(a, none(b, none(c, # == 1)))",
	} {
		f.Add(text, `{"a":[1,{"b":"x"}],"b":{"c":null},"questions":[{"priority":"low"}]}`)
	}
	f.Fuzz(func(t *testing.T, text, artifact string) {
		c, err := condition.ParseSkip(text)
		if err != nil {
			checkPlace(t, text, err)
			return
		}
		var fields map[string]any
		if json.Unmarshal([]byte(artifact), &fields) != nil || fields == nil {
			return
		}
		first, err := c.Eval(fields)
		again, errAgain := c.Eval(fields)
		if first != again || (err == nil) != (errAgain == nil) || err != nil && first {
			t.Fatalf("%q over %s: %v, %v and then %v, %v", text, artifact, first, err, again, errAgain)
		}
	})
}

// An evaluation that would take long is refused, because it cannot be stopped.
func TestLongEvaluationIsRefused(t *testing.T) {
	c, err := condition.ParseSkip("any(l, # in l)")
	if err != nil {
		t.Fatal(err)
	}
	list := func(n int) map[string]any {
		l := make([]any, n)
		for i := range l {
			l[i] = map[string]any{"n": i}
		}
		return map[string]any{"l": l}
	}
	if _, err := c.Eval(list(condition.MaxValues / 2)); err == nil || !strings.Contains(err.Error(), "more than 20000 values") {
		t.Errorf("%v", err)
	}
	if holds, err := c.Eval(list(100)); err != nil || !holds {
		t.Errorf("%t, %v", holds, err)
	}
}
