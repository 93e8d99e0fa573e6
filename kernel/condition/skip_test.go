package condition_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/condition"
)

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
		if err != nil || got != want || c.String() != text {
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
		var got *condition.Error
		if !errors.As(err, &got) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got.Error()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
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
			var fault *condition.Error
			if !errors.As(err, &fault) {
				t.Fatalf("%q: the error is %T", text, err)
			}
			if before := text[:fault.Offset]; fault.Message == "" || fault.Line != 1+strings.Count(before, "\n") || fault.Column != 1+utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]) {
				t.Fatalf("%q: %+v", text, fault)
			}
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
func TestSkipOfMuch(t *testing.T) {
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
