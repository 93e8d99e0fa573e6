package mcpserve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An accepted path is a file or directory of the project, whatever links there are.
func FuzzWithin(f *testing.F) {
	outside, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	for link, to := range map[string]string{"out": outside, "up": "..", "self": "dir", "dir/back": "../.."} {
		if err := os.MkdirAll(filepath.Join(root, "dir"), 0o755); err != nil {
			f.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			f.Fatal(err)
		}
	}
	for _, path := range []string{"dir", "./dir", "out", "up", "self", "dir/back", "dir/../../x", "/", "", "..", "self/../dir", "a\x00b", "dir/../up/.."} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if within(root, "input", path) != nil {
			return
		}
		place, err := filepath.EvalSymlinks(filepath.Join(root, path))
		if err != nil {
			t.Fatalf("%q is taken, and cannot be found: %v", path, err)
		}
		if place != root && !strings.HasPrefix(place, root+"/") {
			t.Errorf("%q is taken, and is %s", path, place)
		}
	})
}

func TestWithinAcceptsInnerPaths(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"dir", "./dir", "."} {
		if err := within(root, "input", path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestCaller(t *testing.T) {
	for _, test := range []struct {
		client *mcp.Implementation
		want   string
	}{
		{nil, "mcp"},
		{&mcp.Implementation{}, "mcp"},
		{&mcp.Implementation{Name: " \n\x1b[31m"}, "mcp:[31m"},
		{&mcp.Implementation{Name: "claude-code"}, "mcp:claude-code"},
		{&mcp.Implementation{Name: strings.Repeat("ü", 100)}, "mcp:" + strings.Repeat("ü", 32)},
	} {
		if got := caller(test.client); got != test.want {
			t.Errorf("%+v is %q, want %q", test.client, got, test.want)
		}
	}
}

func TestStructuredOutput(t *testing.T) {
	type out struct {
		Text string         `json:"text"`
		Deep map[string]any `json:"deep"`
		N    int64          `json:"n"`
	}
	got, err := shown(out{Text: strings.Repeat("ü", maxText), Deep: map[string]any{"a": []string{"key"}}, N: 1<<62 + 1}, func(s string) string { return strings.ReplaceAll(s, "key", "***") })
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.ValidString(got.Text) || !strings.HasSuffix(got.Text, "\n… (65536 more bytes)") || got.N != 1<<62+1 || got.Deep["a"].([]any)[0] != "***" {
		t.Errorf("%s… %v %d", got.Text[:8], got.Deep, got.N)
	}
	if _, err := shown(make([]string, maxResult), strings.Clone); err == nil {
		t.Error("a result of megabytes is sent")
	}
}
