package condition

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// valueType is the type of a value. The zero value is the type of an invalid expression.
type valueType string

const (
	boolType   valueType = "true or false"
	numberType valueType = "a number"
	textType   valueType = "text"
)

// variables are the variables of [Vars] with their types.
var variables = []struct {
	name string
	typ  valueType
}{{"delivery_mode", textType}, {"event", textType}, {"iteration", numberType}, {"provider", textType}, {"session", textType}, {"stage", textType}, {"status", textType}}

// operatorHints are the hints for operators of expr-lang that conditions write in another form.
var operatorHints = map[string]string{
	"and": "write &&", "or": "write ||", "not": "write ! before it, and !(a in b) for a not in b",
	"contains": "write matches with a pattern", "startsWith": `write matches "^…"`, "endsWith": `write matches "…$"`,
}

// operators are the binary operators.
var operators = []string{"==", "!=", "<", ">", "<=", ">=", "%", "&&", "||", "in", "matches"}

// checker walks an expression, determines the types of its parts, and keeps the first fault.
type checker struct {
	text  string
	fault *Error
}

// errorf keeps the first fault and returns the type of an invalid expression.
func (c *checker) errorf(at ast.Node, hint, format string, args ...any) valueType {
	if c.fault == nil {
		c.fault = newError(c.text, positionNode(at).Location().From, hint, format, args...)
	}
	return ""
}

// positionNode returns the node whose position a fault of n gets. A conditional node has no position of its own.
func positionNode(n ast.Node) ast.Node {
	if choice, ok := n.(*ast.ConditionalNode); ok {
		return positionNode(choice.Cond)
	}
	return n
}

// check returns the type of a node.
func (c *checker) check(n ast.Node) valueType {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return c.checkVariable(n)
	case *ast.IntegerNode:
		return numberType
	case *ast.StringNode:
		return textType
	case *ast.BoolNode:
		return boolType
	case *ast.UnaryNode:
		return c.checkUnary(n)
	case *ast.BinaryNode:
		return c.checkBinary(n)
	case *ast.CallNode, *ast.BuiltinNode:
		return c.errorf(n, "compare the variables themselves, or write a script for it", "a condition cannot call anything")
	case *ast.ArrayNode:
		return c.errorf(n, `write it after in: stage in ["a", "b"]`, "a list is only allowed after in")
	case *ast.FloatNode:
		return c.errorf(n, "write a whole number", "%s is not a whole number", n)
	case *ast.MemberNode, *ast.SliceNode, *ast.ChainNode:
		return c.errorf(n, "the variables are "+variableNames(), "a variable has no parts")
	default: // maps, choices, declarations, sequences, nil, bytes
		return c.errorf(n, languageHint, "this is not part of the language of conditions")
	}
}

func (c *checker) checkVariable(n *ast.IdentifierNode) valueType {
	known := make([]string, len(variables))
	for i, v := range variables {
		if v.name == n.Value {
			return v.typ
		}
		known[i] = v.name
	}
	hint := "the variables are " + variableNames()
	if near := nearest.Name(n.Value, known); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return c.errorf(n, hint, "unknown name %q", n.Value)
}

func variableNames() string {
	var list []string
	for _, v := range variables {
		list = append(list, v.name)
	}
	return strings.Join(list, ", ")
}

func (c *checker) checkUnary(n *ast.UnaryNode) valueType {
	if n.Operator != "!" {
		return c.unknownOperator(n, n.Operator)
	}
	operand := c.check(n.Node)
	if operand != boolType && c.fault == nil {
		return c.errorf(n, "put parentheses around a comparison: !(a == b)", "! needs true or false, not %s", operand)
	}
	return boolType
}

// unknownOperator reports an operator that the language does not have.
func (c *checker) unknownOperator(at ast.Node, operator string) valueType {
	hint, known := operatorHints[operator]
	if !known {
		hint = languageHint
	}
	return c.errorf(at, hint, "operator %s is not part of the language of conditions", operator)
}

func (c *checker) checkBinary(n *ast.BinaryNode) valueType {
	if !slices.Contains(operators, n.Operator) {
		return c.unknownOperator(n, n.Operator)
	}
	left := c.check(n.Left)
	if n.Operator == "in" {
		return c.checkIn(n, left)
	}
	right := c.check(n.Right)
	if c.fault != nil {
		return ""
	}
	switch n.Operator {
	case "&&", "||":
		return c.checkOperands(n, left, right, boolType)
	case "%":
		if zero, ok := n.Right.(*ast.IntegerNode); ok && zero.Value == 0 {
			return c.errorf(zero, "", "division by zero")
		}
		return c.checkOperands(n, left, right, numberType)
	case "matches":
		return c.checkMatches(n, left, right)
	}
	if left != right {
		return c.errorf(n, "compare values of one type: iteration is a number, all others are text", "%s cannot compare %s with %s", n.Operator, left, right)
	}
	if left == boolType && n.Operator != "==" && n.Operator != "!=" {
		return c.errorf(n, "", "%s cannot compare %s", n.Operator, left)
	}
	return boolType
}

// checkOperands returns want, or reports an operand of another type.
func (c *checker) checkOperands(n *ast.BinaryNode, left, right, want valueType) valueType {
	for _, operand := range []valueType{left, right} {
		if operand != want {
			return c.errorf(n, "", "%s needs %s on both sides, not %s", n.Operator, want, operand)
		}
	}
	return want
}

// checkIn checks that the right side is a list of the left side's type.
func (c *checker) checkIn(n *ast.BinaryNode, left valueType) valueType {
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
		if typ := c.check(item); typ != left && c.fault == nil {
			return c.errorf(item, "", "%s cannot be in a list with %s", left, typ)
		}
	}
	return boolType
}

// checkMatches checks that both sides are text and that the pattern is constant.
func (c *checker) checkMatches(n *ast.BinaryNode, left, right valueType) valueType {
	c.checkOperands(n, left, right, textType)
	c.checkPattern(n)
	return boolType
}

// checkPattern checks the pattern of matches.
func (c *checker) checkPattern(n *ast.BinaryNode) {
	pattern, ok := n.Right.(*ast.StringNode)
	if !ok {
		c.errorf(n, `stage matches "^review"`, "matches needs a quoted pattern on its right side")
		return
	}
	if _, err := regexp.Compile(pattern.Value); err != nil {
		c.errorf(pattern, "use the syntax of Go's regexp", "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
}
