package verify

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadCases(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"an unknown key", `{"provider": {}}`, `unknown key "provider", did you mean "providers"?`},
		{"a wrong type", `{"providers": {"a": {"free": "yes"}}}`, `"providers.free" does not fit: got string, want a boolean`},
		{"no JSON", "{\n\n  oops", "verify.json:3:3: invalid character 'o'"},
		{"half of it", "{\n\n", "verify.json:3:1: unexpected end"},
		{"a list", "[]", "must be an object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), CasesFile)
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadCases(path)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func FuzzCases(f *testing.F) {
	f.Add(`{"providers": {"a": {"normal": {"prompt": "x"}}}}`)
	f.Add("{\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), CasesFile)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if cases, err := ReadCases(path); err == nil {
			if _, err := json.Marshal(cases); err != nil {
				t.Errorf("%q was read and cannot be written: %v", text, err)
			}
		}
	})
}

func TestFindCases(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "agent-plugin-x")
	if got := FindCases(binary); got != "" {
		t.Errorf("found %s where nothing is", got)
	}
	for _, name := range []string{"verify.json", "agent-plugin-x.verify.json"} { // the second takes precedence
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := FindCases(binary); got != filepath.Join(dir, name) {
			t.Errorf("found %q, want %s", got, name)
		}
	}
}

// In the table, IDs are unique, titles are short, and a row needs only earlier rows.
func TestTable(t *testing.T) {
	var before []string
	for _, c := range table() {
		if slices.Contains(before, c.id) {
			t.Errorf("%s is there twice", c.id)
		}
		for _, id := range c.needs {
			if !slices.Contains(before, id) {
				t.Errorf("%s needs %s, which does not stand before it", c.id, id)
			}
		}
		if n := len(c.title); n > 60 {
			t.Errorf("%s: the title has %d columns, want at most 60", c.id, n)
		}
		before = append(before, c.id)
	}
}

// A requested row includes the rows that it needs.
func TestSelectRows(t *testing.T) {
	var ids []string
	for _, c := range selectRows([]string{"health"}) {
		ids = append(ids, c.id)
	}
	if diff := cmp.Diff([]string{"describe", "stdout", "handshake", "socket", "health"}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidOptions(t *testing.T) {
	tests := []struct {
		name   string
		target Target
		opts   Options
		want   string
	}{
		{"no such row", Target{Path: "/bin/sh"}, Options{Only: []string{"cancle"}}, `did you mean "cancel"`},
		{"no such file", Target{Path: "/nowhere/agent-plugin-x"}, Options{}, "no such file"},
		{"not executable", Target{Path: "parse_test.go"}, Options{}, "permission denied"},
		{"a file outside", Target{Path: "/bin/sh"}, Options{Cases: Cases{Files: map[string]string{"../x": ""}}}, "outside the work directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Run(t.Context(), tt.target, tt.opts); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}
