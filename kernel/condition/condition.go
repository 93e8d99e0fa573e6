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

// MaxBytes is the maximum length of a condition in bytes.
const MaxBytes = 4096

// Vars are the variables of a condition at one call of a hook. Variables that the point lacks are empty or 0.
type Vars struct {
	Iteration int    `expr:"iteration"`
	Stage     string `expr:"stage"`
	Session   string `expr:"session"`
	Provider  string `expr:"provider"`
	Status    string `expr:"status"`
	Event     string `expr:"event"`
	Delivery  string `expr:"delivery_mode"`
}

// Condition is a valid condition. It is immutable and safe for concurrent use.
type Condition struct {
	text    string
	program *vm.Program
}

// Parse parses a condition. The error is an [*Error]: a syntax error, a call, an unknown name, mixed types, or a
// text longer than [MaxBytes].
func Parse(text string) (*Condition, error) {
	tree, fault := parseTree(text)
	if fault != nil {
		return nil, fault
	}
	c := checker{text: text}
	if typ := c.check(tree.Node); c.fault == nil && typ != boolType {
		c.errorf(tree.Node, "compare it with something", "a condition must be true or false, not %s", typ)
	}
	if c.fault != nil {
		return nil, c.fault
	}
	program, err := expr.Compile(text, expr.Env(Vars{}), expr.AsBool())
	if err != nil { // unexpected: expr accepts everything that check accepts
		return nil, syntaxError(text, err)
	}
	return &Condition{text: text, program: program}, nil
}

// parseTree parses an expression of expr-lang.
func parseTree(text string) (*parser.Tree, *Error) {
	switch {
	case len(text) > MaxBytes:
		return nil, newError(text, 0, "write a script for it", "a condition has at most %d bytes, not %d", MaxBytes, len(text))
	case strings.TrimSpace(text) == "":
		return nil, newError(text, 0, "leave it out if it is always true", "the condition is empty")
	}
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, syntaxError(text, err)
	}
	return tree, nil
}

// Eval reports whether the condition is true. It never panics. Only the values can cause an error, such as a division
// by zero.
func (c *Condition) Eval(v Vars) (bool, error) {
	result, err := expr.Run(c.program, v)
	if err != nil {
		return false, fmt.Errorf("condition %q: %s", c.text, evalReason(err))
	}
	holds, ok := result.(bool)
	if !ok {
		return false, fmt.Errorf("condition %q is %v, not true or false", c.text, result)
	}
	return holds, nil
}

// evalReason returns the message of an evaluation error without its excerpt of the condition.
func evalReason(err error) string {
	reason := err.Error()
	var where *file.Error
	if errors.As(err, &where) {
		reason = where.Message
	}
	return strings.TrimPrefix(reason, "runtime error: ")
}
