package condition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// kind is the type of a value. The zero value stands for one that has a fault.
type kind string

const (
	ofBool   kind = "true or false"
	ofNumber kind = "a number"
	ofText   kind = "text"
)

// variables are the names of [Vars] with their types.
var variables = []struct {
	name string
	of   kind
}{{"event", ofText}, {"iteration", ofNumber}, {"provider", ofText}, {"session", ofText}, {"stage", ofText}, {"status", ofText}}

// spelled are the words and signs of expr-lang that our language spells in one way only.
var spelled = map[string]string{
	"and": "write &&", "or": "write ||", "not": "write ! before it, and !(a in b) for a not in b",
	"contains": "write matches with a pattern", "startsWith": `write matches "^…"`, "endsWith": `write matches "…$"`,
}

// operators are those between two values.
var operators = []string{"==", "!=", "<", ">", "<=", ">=", "%", "&&", "||", "in", "matches"}

// checker walks an expression, lets through what the language has and stops at the first thing that it has
// not.
type checker struct {
	text  string
	fault *Error
}

// errorf keeps the first fault.
func (c *checker) errorf(at ast.Node, hint, format string, args ...any) kind {
	if c.fault == nil {
		c.fault = fault(c.text, first(at).Location().From, hint, format, args...)
	}
	return ""
}

// first is the node that the place of a fault is taken from. A choice has no place of its own.
func first(n ast.Node) ast.Node {
	if choice, ok := n.(*ast.ConditionalNode); ok {
		return first(choice.Cond)
	}
	return n
}

// check is the type of what a node comes to.
func (c *checker) check(n ast.Node) kind {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return c.variable(n)
	case *ast.IntegerNode:
		return ofNumber
	case *ast.StringNode:
		return ofText
	case *ast.BoolNode:
		return ofBool
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.CallNode, *ast.BuiltinNode:
		return c.errorf(n, "compare the variables themselves, or write a script for it", "a condition cannot call anything")
	case *ast.ArrayNode:
		return c.errorf(n, `write it after in: stage in ["a", "b"]`, "a list has no place here")
	case *ast.FloatNode:
		return c.errorf(n, "write a whole number", "%s is no whole number", n)
	case *ast.MemberNode, *ast.SliceNode, *ast.ChainNode:
		return c.errorf(n, "the variables are "+names(), "a variable has no parts")
	default: // maps, choices, declarations, sequences, nil, bytes
		return c.errorf(n, languageHint, "this is not part of the language of conditions")
	}
}

func (c *checker) variable(n *ast.IdentifierNode) kind {
	known := make([]string, len(variables))
	for i, v := range variables {
		if v.name == n.Value {
			return v.of
		}
		known[i] = v.name
	}
	hint := "the variables are " + names()
	if near := nearest.Name(n.Value, known); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return c.errorf(n, hint, "unknown name %q", n.Value)
}

func names() string {
	var list []string
	for _, v := range variables {
		list = append(list, v.name)
	}
	return strings.Join(list, ", ")
}

func (c *checker) unary(n *ast.UnaryNode) kind {
	if n.Operator != "!" {
		return c.foreign(n, n.Operator)
	}
	of := c.check(n.Node)
	if of != ofBool && c.fault == nil {
		return c.errorf(n, "put parentheses around a comparison: !(a == b)", "! needs true or false, not %s", of)
	}
	return ofBool
}

// foreign reports an operator that the language does not have.
func (c *checker) foreign(at ast.Node, operator string) kind {
	hint, known := spelled[operator]
	if !known {
		hint = languageHint
	}
	return c.errorf(at, hint, "operator %s is not part of the language of conditions", operator)
}

func (c *checker) binary(n *ast.BinaryNode) kind {
	if !slices.Contains(operators, n.Operator) {
		return c.foreign(n, n.Operator)
	}
	left := c.check(n.Left)
	if n.Operator == "in" {
		return c.in(n, left)
	}
	right := c.check(n.Right)
	if c.fault != nil {
		return ""
	}
	switch n.Operator {
	case "&&", "||":
		return c.both(n, left, right, ofBool, ofBool)
	case "%":
		if zero, ok := n.Right.(*ast.IntegerNode); ok && zero.Value == 0 {
			return c.errorf(zero, "", "nothing can be divided by zero")
		}
		return c.both(n, left, right, ofNumber, ofNumber)
	case "matches":
		return c.matches(n, left, right)
	}
	if left != right {
		return c.errorf(n, "compare like with like: iteration is a number, all others are text", "%s cannot compare %s with %s", n.Operator, left, right)
	}
	if left == ofBool && n.Operator != "==" && n.Operator != "!=" {
		return c.errorf(n, "", "%s cannot compare %s", n.Operator, left)
	}
	return ofBool
}

// both wants the two sides to be of one type.
func (c *checker) both(n *ast.BinaryNode, left, right, want, result kind) kind {
	for _, of := range []kind{left, right} {
		if of != want {
			return c.errorf(n, "", "%s needs %s on both sides, not %s", n.Operator, want, of)
		}
	}
	return result
}

// in wants a list of the left side's type.
func (c *checker) in(n *ast.BinaryNode, left kind) kind {
	list, ok := n.Right.(*ast.ArrayNode)
	switch {
	case c.fault != nil:
		return ""
	case !ok:
		return c.errorf(n, `stage in ["a", "b"]`, "in needs a list on its right side")
	case len(list.Nodes) == 0:
		return c.errorf(list, "", "the list is empty")
	}
	for _, item := range list.Nodes {
		if of := c.check(item); of != left && c.fault == nil {
			return c.errorf(item, "", "%s cannot be in a list with %s", left, of)
		}
	}
	return ofBool
}

// matches wants text and a constant pattern.
func (c *checker) matches(n *ast.BinaryNode, left, right kind) kind {
	c.both(n, left, right, ofText, ofText)
	c.pattern(n)
	return ofBool
}
