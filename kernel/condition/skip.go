package condition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// Skip is a condition over the fields of an artifact. It is safe for concurrent use.
type Skip struct {
	text    string
	program *vm.Program
}

// ParseSkip parses a condition over the fields of an artifact (skip_when). The error is an [*Error]. The language
// is that of [Parse] with field names as variables, nested fields (a.b), items (a[0]), fractions, nil and len(a).
// all, any and none test a condition on each item: none(questions, .priority == "blocking"). The types of fields
// are checked by [Skip.Eval].
func ParseSkip(text string) (*Skip, error) {
	tree, fault := parseTree(text)
	if fault != nil {
		return nil, fault
	}
	c := skipChecker{checker: checker{text: text}}
	if c.check(tree.Node, 0); c.fault != nil {
		return nil, c.fault
	}
	if !mayBeBool(tree.Node) {
		return nil, newError(text, positionNode(tree.Node).Location().From, "compare it with something", "a condition must be true or false")
	}
	options := []expr.Option{expr.Env(map[string]any{}), expr.AllowUndefinedVariables(), expr.DisableAllBuiltins()} // fields may have the names of builtins
	for _, name := range functions {
		options = append(options, expr.EnableBuiltin(name))
	}
	program, err := expr.Compile(text, options...)
	if err != nil {
		return nil, syntaxError(text, err)
	}
	return &Skip{text: text, program: program}, nil
}

// Eval reports whether the condition is true for an artifact. Values that cannot be compared, items of a value
// that is not a list, and artifacts of more than [MaxValues] values are errors. A missing field is nil. Eval does
// not change fields.
func (s *Skip) Eval(fields map[string]any) (bool, error) {
	if remainingValues(fields, MaxValues) < 0 {
		return false, fmt.Errorf("condition %q: the artifact has more than %d values, too many for a condition", s.text, MaxValues)
	}
	result, err := expr.Run(s.program, fields)
	if err != nil {
		reason := evalReason(err)
		if strings.HasPrefix(reason, "reflect: ") { // an error of all, any or none
			reason = "all, any and none need a list"
		}
		return false, fmt.Errorf("condition %q: %s", s.text, reason)
	}
	holds, ok := result.(bool)
	if !ok {
		return false, fmt.Errorf("condition %q is %.100v, not true or false", s.text, result)
	}
	return holds, nil
}

// MaxValues bounds the values of an artifact: comparing all items of two lists takes long and cannot be stopped.
const MaxValues = 20_000

// remainingValues returns limit less the number of values in v; a negative number if v has more.
func remainingValues(v any, limit int) int {
	limit--
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			if limit = remainingValues(inner, limit); limit < 0 {
				return limit
			}
		}
	case []any:
		for _, inner := range v {
			if limit = remainingValues(inner, limit); limit < 0 {
				return limit
			}
		}
	}
	return limit
}

// skipChecker checks that an expression is part of the language of [ParseSkip].
type skipChecker struct{ checker }

// maxNesting bounds the nesting of all, any and none, because their running times multiply.
const maxNesting = 3

// check checks a node. inside is the number of all, any and none around the node.
func (c *skipChecker) check(n ast.Node, inside int) {
	if c.fault != nil {
		return
	}
	switch n := n.(type) {
	case *ast.IdentifierNode:
		c.checkField(n)
	case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.BoolNode, *ast.NilNode:
	case *ast.PointerNode:
		c.checkPointer(n)
	case *ast.UnaryNode:
		if n.Operator != "!" && n.Operator != "-" {
			c.unknownOperator(n, n.Operator)
		}
		c.check(n.Node, inside)
	case *ast.BinaryNode:
		c.checkBinary(n, inside)
	case *ast.MemberNode:
		c.checkMember(n, inside)
	case *ast.ChainNode:
		c.check(n.Node, inside)
	case *ast.ArrayNode:
		c.errorf(n, `write it after in: priority in ["low", "medium"]`, "a list is only allowed after in")
	case *ast.BuiltinNode:
		c.checkBuiltin(n, inside)
	case *ast.CallNode:
		c.errorf(n, "the functions are all, any, none and len", "a condition cannot call this")
	default: // slices, maps, choices, declarations, sequences, bytes
		c.errorf(n, skipHint, "this is not part of the language of conditions")
	}
}

const skipHint = languageHint + ", names of fields, a.b, a[0], nil, all, any, none, len"

// functions are the functions of a condition over an artifact.
var functions = []string{"all", "any", "none", "len"}

func (c *skipChecker) checkField(n *ast.IdentifierNode) {
	switch {
	case strings.HasPrefix(n.Value, "$"):
		c.errorf(n, "the variables are the fields of the artifact", "unknown name %q", n.Value)
	case slices.Contains(functions, n.Value):
		c.errorf(n, "write "+n.Value+"(…), or rename the field", "%s is a function, not a variable", n.Value)
	}
}

func (c *skipChecker) checkPointer(n *ast.PointerNode) {
	if n.Name != "" {
		c.errorf(n, "# is the item, .name its field", "#%s is not part of the language of conditions", n.Name)
	}
}

func (c *skipChecker) checkMember(n *ast.MemberNode, inside int) {
	switch property := n.Property.(type) {
	case *ast.StringNode, *ast.IntegerNode:
		c.check(n.Node, inside)
	default:
		c.errorf(property, "write the field's name, or the item's number", "the index in brackets must be constant")
	}
}

func (c *skipChecker) checkBuiltin(n *ast.BuiltinNode, inside int) {
	switch {
	case !slices.Contains(functions, n.Name):
		c.errorf(n, "the functions are all, any, none and len", "a condition cannot call %s", n.Name)
		return
	case n.Name != "len" && inside == maxNesting:
		c.errorf(n, "", "all, any and none can be nested at most %d levels deep", maxNesting)
		return
	case n.Name != "len" && inside > 0 && !isItem(n.Arguments[0]):
		c.errorf(n.Arguments[0], "begin it with a dot, or #", "inside all, any and none, only lists of the item can be searched")
		return
	}
	for _, argument := range n.Arguments {
		if predicate, ok := argument.(*ast.PredicateNode); ok {
			c.check(predicate.Node, inside+1)
			if c.fault == nil && !mayBeBool(predicate.Node) {
				c.errorf(predicate.Node, "compare it with something", "%s needs a condition as its second argument", n.Name)
			}
			continue
		}
		c.check(argument, inside)
	}
}

// isItem reports whether a node is the item of all, any or none, or a part of the item. Searching any other list for
// each item would multiply the running time.
func isItem(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.PointerNode:
		return true
	case *ast.MemberNode:
		return isItem(n.Node)
	case *ast.ChainNode:
		return isItem(n.Node)
	default:
		return false
	}
}

func (c *skipChecker) checkBinary(n *ast.BinaryNode, inside int) {
	if !slices.Contains(operators, n.Operator) {
		c.unknownOperator(n, n.Operator)
		return
	}
	c.check(n.Left, inside)
	list, isList := n.Right.(*ast.ArrayNode)
	switch {
	case n.Operator == "in" && isList:
		for _, item := range list.Nodes {
			c.check(item, inside)
		}
		return
	case n.Operator == "matches" && c.fault == nil:
		c.checkPattern(n)
		return
	}
	c.check(n.Right, inside)
	if c.fault != nil {
		return
	}
	if n.Operator == "&&" || n.Operator == "||" {
		for _, side := range []ast.Node{n.Left, n.Right} {
			if !mayBeBool(side) {
				c.errorf(side, "", "%s needs true or false on both sides", n.Operator)
			}
		}
	}
}

// mayBeBool reports whether a node may be true or false, as far as its type is known.
func mayBeBool(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.NilNode:
		return false
	case *ast.UnaryNode:
		return n.Operator == "!"
	case *ast.BinaryNode:
		return n.Operator != "%"
	case *ast.BuiltinNode:
		return n.Name != "len"
	default:
		return true
	}
}
