package event_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Each constant of type.go is known, so that a new type cannot be forgotten.
func TestKnown(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "type.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for n := range ast.Preorder(file) {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			continue
		}
		name, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		found++
		if !event.Type(name).Known() {
			t.Errorf("%s is not known", name)
		}
	}
	if found < 50 {
		t.Errorf("found only %d types in type.go", found)
	}
	if event.Type("later_invention").Known() {
		t.Error("an unknown type is known")
	}
}
