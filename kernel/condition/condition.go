package condition

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

// MaxBytes is the longest text of a condition.
const MaxBytes = 4096

// Vars are the variables of a condition at one call of a hook; what a point does not have is empty.
type Vars struct {
	Iteration int    `expr:"iteration"`
	Stage     string `expr:"stage"`
	Session   string `expr:"session"`
	Provider  string `expr:"provider"`
	Status    string `expr:"status"`
	Event     string `expr:"event"`
}

// Condition is an expression that was found right. It is not changed and safe for concurrent use.
type Condition struct {
	text    string
	program *vm.Program
}

// Parse reads a condition. The error is an [*Error]: the text is no expression, calls something, names
// what does not exist, mixes types, or is longer than [MaxBytes].
func Parse(text string) (*Condition, error) {
	tree, wrong := parseTree(text)
	if wrong != nil {
		return nil, wrong
	}
	c := checker{text: text}
	if of := c.check(tree.Node); c.fault == nil && of != boolType {
		c.errorf(tree.Node, "compare it with something", "a condition must be true or false, not %s", of)
	}
	if c.fault != nil {
		return nil, c.fault
	}
	program, err := expr.Compile(text, expr.Env(Vars{}), expr.AsBool())
	if err != nil { // what is checked above is a part of what this accepts
		return nil, syntaxError(text, err)
	}
	return &Condition{text: text, program: program}, nil
}

// parseTree reads an expression of expr-lang.
func parseTree(text string) (*parser.Tree, *Error) {
	switch {
	case len(text) > MaxBytes:
		return nil, newError(text, 0, "write a script for it", "a condition has at most %d bytes, not %d", MaxBytes, len(text))
	case strings.TrimSpace(text) == "":
		return nil, newError(text, 0, "leave it out for always", "the condition is empty")
	}
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, syntaxError(text, err)
	}
	return tree, nil
}

// Eval says whether the condition holds. An error is a fault that only the values show, such as a division
// by zero. It never panics.
func (c *Condition) Eval(v Vars) (bool, error) {
	result, err := expr.Run(c.program, v)
	if err != nil {
		return false, fmt.Errorf("condition %q: %s", c.text, evalReason(err))
	}
	holds, ok := result.(bool)
	if !ok {
		return false, fmt.Errorf("condition %q came to %v, not to true or false", c.text, result)
	}
	return holds, nil
}

// evalReason is a fault of an evaluation without the picture of the text.
func evalReason(err error) string {
	reason := err.Error()
	var where *file.Error
	if errors.As(err, &where) {
		reason = where.Message
	}
	return strings.TrimPrefix(reason, "runtime error: ")
}

// String is the condition as written.
func (c *Condition) String() string { return c.text }
