package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// base is the older version in the tests; each case replaces a piece of it.
const base = `syntax = "proto3";
package p.v1;
service S {
  rpc A(M) returns (M);
  rpc B(stream M) returns (stream M);
}
message M {
  string text = 1;
  repeated int32 numbers = 2;
  optional int64 maybe = 3;
  map<string, string> pairs = 4;
  oneof choice {
    string left = 5;
    N right = 6;
  }
  message Inner {
    E e = 1;
  }
  Inner inner = 7;
}
message N {}
enum E {
  E_ZERO = 0;
  E_ONE = 1;
}
`

func TestBreaking(t *testing.T) {
	tests := map[string]struct{ old, now, want string }{
		"nothing":             {"message N {}", "message N {}", ""},
		"comment":             {"message N {}", "// words\nmessage N {}", ""},
		"new field":           {"message N {}", "message N { string more = 1; }", ""},
		"new value":           {"E_ONE = 1;", "E_ONE = 1; E_TWO = 2;", ""},
		"new rpc":             {"rpc A(M) returns (M);", "rpc A(M) returns (M); rpc C(M) returns (M);", ""},
		"new oneof member":    {"N right = 6;", "N right = 6; string middle = 9;", ""},
		"package":             {"package p.v1;", "package p.v2;", "package p.v1 became p.v2"},
		"service gone":        {"service S {", "service T {", "service S is gone"},
		"rpc gone":            {"rpc A(M) returns (M);", "", "rpc S.A is gone"},
		"rpc input":           {"rpc A(M)", "rpc A(N)", "rpc S.A changed from (M) returns (M) to (N) returns (M)"},
		"rpc stream":          {"rpc B(stream M)", "rpc B(M)", "(stream M) returns (stream M) to (M) returns (stream M)"},
		"field gone":          {"string text = 1;", "", "field p.v1.M.text (number 1) is gone"},
		"field reserved":      {"string text = 1;", "reserved 1;", "field p.v1.M.text (number 1) is gone"},
		"field renamed":       {"string text = 1;", "string words = 1;", "field p.v1.M.text (number 1) became words"},
		"field renumbered":    {"string text = 1;", "string text = 11;", "has number 11 now"},
		"field retyped":       {"string text = 1;", "bytes text = 1;", "changed from string to bytes"},
		"message type":        {"N right = 6;", "M right = 6;", "changed from p.v1.N in oneof choice to p.v1.M in oneof choice"},
		"list to one":         {"repeated int32 numbers", "int32 numbers", "changed from repeated int32 to int32"},
		"presence":            {"optional int64 maybe", "int64 maybe", "changed from optional int64 to int64"},
		"map":                 {"map<string, string> pairs", "map<string, int32> pairs", "to map<string, int32>"},
		"oneof left":          {"string left = 5;\n    N right = 6;\n  }", "N right = 6;\n  }\n  string left = 5;", "changed from string in oneof choice to string"},
		"nested message gone": {"message Inner {\n    E e = 1;\n  }\n  Inner inner", "N inner", "message p.v1.M.Inner is gone"},
		"nested field":        {"E e = 1;", "int32 e = 1;", "changed from p.v1.E to int32"},
		"enum gone":           {"E e = 1;\n  }", "int32 e = 1;\n  }", "field p.v1.M.Inner.e"},
		"value gone":          {"E_ONE = 1;", "", "value E_ONE of enum E is gone"},
		"value renumbered":    {"E_ONE = 1;", "E_ONE = 2;", "value E_ONE of enum E changed from 1 to 2"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(base, tt.old) {
				t.Fatalf("the case replaces %q, which is not there", tt.old)
			}
			before, after := writeProto(t, base), writeProto(t, strings.Replace(base, tt.old, tt.now, 1))
			err := checkBreaking(t.Context(), before, after)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("an addition is called breaking: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func writeProto(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.proto")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBreakingNamesTheFileThatDoesNotCompile(t *testing.T) {
	good, bad := writeProto(t, base), writeProto(t, "syntax = ")
	for _, pair := range [][2]string{{good, bad}, {bad, good}} {
		if err := checkBreaking(t.Context(), pair[0], pair[1]); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("got %v, want an error that names %s", err, bad)
		}
	}
}
