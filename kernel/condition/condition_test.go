package condition_test

import (
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

// U243: the language over the six variables.
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
		if err != nil || got != want || c.String() != text {
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

// K14: expressions outside of the language are refused, with the position of the character.
func TestFaults(t *testing.T) {
	const language = " (the language has == != < > <= >= % && || ! in matches, whole numbers, quoted text, true and false)"
	const variables = "the variables are event, iteration, provider, session, stage, status)"
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
		"iteration == 1.5":    "1:14: 1.5 is no whole number (write a whole number)",
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
			var fault *condition.Error
			if !errors.As(err, &fault) {
				t.Fatalf("%q: the error is %T", text, err)
			}
			before := text[:fault.Offset]
			line, column := 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:])
			if fault.Line != line || fault.Column != column || fault.Message == "" {
				t.Fatalf("%q: %+v is not at %d:%d", text, fault, line, column)
			}
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
