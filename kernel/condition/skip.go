package condition

import (
	"fmt"
	"regexp"
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

// ParseSkip reads a condition over the fields of an artifact (skip_when); the error is an [*Error]. Its language is that of
// [Parse] with the names of fields for variables, fields of fields (a.b), items (a[0]), numbers with a fraction, nil,
// len(a), and all, any and none with a condition over each item: none(questions, .priority == "blocking"). What type a
// field has is known when it is evaluated.
func ParseSkip(text string) (*Skip, error) {
	tree, wrong := parseTree(text)
	if wrong != nil {
		return nil, wrong
	}
	c := skipChecker{checker: checker{text: text}}
	if c.check(tree.Node, 0); c.fault != nil {
		return nil, c.fault
	}
	if !mayBeBool(tree.Node) {
		return nil, newError(text, positionNode(tree.Node).Location().From, "compare it with something", "a condition must be true or false, and this is not")
	}
	options := []expr.Option{expr.Env(map[string]any{}), expr.AllowUndefinedVariables(), expr.DisableAllBuiltins()} // fields may be called like them
	for _, name := range functions {
		options = append(options, expr.EnableBuiltin(name))
	}
	program, err := expr.Compile(text, options...)
	if err != nil {
		return nil, syntaxError(text, err)
	}
	return &Skip{text: text, program: program}, nil
}

// Eval says whether the condition holds for an artifact. One that compares what cannot be compared, or asks for the items
// of what is no list, is an error, as is an artifact of more than [MaxValues] values; a field that is not there is nil.
// fields is not changed.
func (s *Skip) Eval(fields map[string]any) (bool, error) {
	if remainingValues(fields, MaxValues) < 0 {
		return false, fmt.Errorf("condition %q: the artifact has more than %d values, of which none is looked at", s.text, MaxValues)
	}
	result, err := expr.Run(s.program, fields)
	if err != nil {
		reason := evalReason(err)
		if strings.HasPrefix(reason, "reflect: ") { // of all, any, none
			reason = "what it asks for the items of is no list, or is not there"
		}
		return false, fmt.Errorf("condition %q: %s", s.text, reason)
	}
	holds, ok := result.(bool)
	if !ok {
		return false, fmt.Errorf("condition %q came to %.100v, not to true or false", s.text, result)
	}
	return holds, nil
}

// MaxValues bounds what a condition is held against: comparing all items of a list with all of another takes long, and
// cannot be stopped.
const MaxValues = 20_000

// remainingValues is how many of the room are left by a value and those in it, negative where they are more.
func remainingValues(v any, room int) int {
	room--
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			if room = remainingValues(inner, room); room < 0 {
				return room
			}
		}
	case []any:
		for _, inner := range v {
			if room = remainingValues(inner, room); room < 0 {
				return room
			}
		}
	}
	return room
}

// String is the condition's text.
func (s *Skip) String() string { return s.text }

// skipChecker finds what of expr-lang is not part of the language.
type skipChecker struct{ checker }

// maxNesting is how deep conditions over items may stand in each other: the time that they take multiplies.
const maxNesting = 3

// check looks at a node that stands within as many conditions over items.
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
		c.errorf(n, `write it after in: priority in ["low", "medium"]`, "a list has no place here")
	case *ast.BuiltinNode:
		c.checkBuiltin(n, inside)
	case *ast.CallNode:
		c.errorf(n, "there are all, any, none and len", "a condition cannot call this")
	default: // slices, maps, choices, declarations, sequences, bytes
		c.errorf(n, skipHint, "this is not part of the language of conditions")
	}
}

const skipHint = languageHint + ", names of fields, a.b, a[0], nil, all, any, none, len"

// functions are what a condition over an artifact can call.
var functions = []string{"all", "any", "none", "len"}

func (c *skipChecker) checkField(n *ast.IdentifierNode) {
	switch {
	case strings.HasPrefix(n.Value, "$"):
		c.errorf(n, "the variables are the fields of the artifact", "unknown name %q", n.Value)
	case slices.Contains(functions, n.Value):
		c.errorf(n, "write "+n.Value+"(…), or give the field another name", "%s is no variable", n.Value)
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
		c.errorf(property, "write the field's name, or the item's number", "what stands in brackets is no constant")
	}
}

func (c *skipChecker) checkBuiltin(n *ast.BuiltinNode, inside int) {
	switch {
	case !slices.Contains(functions, n.Name):
		c.errorf(n, "there are all, any, none and len", "a condition cannot call %s", n.Name)
		return
	case n.Name != "len" && inside == maxNesting:
		c.errorf(n, "", "all, any and none stand at most %d deep in each other", maxNesting)
		return
	case n.Name != "len" && inside > 0 && !isItem(n.Arguments[0]):
		c.errorf(n.Arguments[0], "begin it with a dot, or #", "within all, any and none, only lists of the item itself can be looked through")
		return
	}
	for _, argument := range n.Arguments {
		if of, is := argument.(*ast.PredicateNode); is {
			c.check(of.Node, inside+1)
			if c.fault == nil && !mayBeBool(of.Node) {
				c.errorf(of.Node, "compare it with something", "%s needs a condition for its second part", n.Name)
			}
			continue
		}
		c.check(argument, inside)
	}
}

// isItem reports whether a node is the item that a condition is held against, or lies within it. Looking through other lists
// for each item would take their length times that of the outer one.
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

// mayBeBool reports whether a node is true or false, as far as that is known.
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

// checkPattern looks at the pattern of matches.
func (c *checker) checkPattern(n *ast.BinaryNode) {
	pattern, ok := n.Right.(*ast.StringNode)
	if !ok {
		c.errorf(n, `stage matches "^review"`, "matches needs a quoted pattern on its right side")
		return
	}
	if _, err := regexp.Compile(pattern.Value); err != nil {
		c.errorf(pattern, "the syntax is that of Go's regexp", "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
}
