package guide

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBlocksEqualTheirFiles compares every code block that follows a comment of the form
// "<!-- the block is PATH; … -->" with the file at PATH. With "part of PATH" the file must contain the block.
func TestBlocksEqualTheirFiles(t *testing.T) {
	root := filepath.Join("..", "..")
	guides, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	marked := regexp.MustCompile("(?s)<!-- the block is (part of )?([^;]+); [^\n]*-->\n```[a-z]*\n(.*?)```\n")
	found := 0
	for _, guide := range guides {
		text, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range marked.FindAllSubmatch(text, -1) {
			found++
			part, name, block := len(m[1]) > 0, string(m[2]), string(m[3])
			file, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
			if err != nil {
				t.Errorf("%s: %v", guide, err)
				continue
			}
			if part && block != "" && strings.Contains(string(file), block) {
				continue
			}
			if diff := cmp.Diff(string(file), block); diff != "" {
				t.Errorf("%s: the block is not (in) %s (-file +block):\n%s", guide, name, diff)
			}
		}
	}
	if found == 0 {
		t.Error("no guide has a block that claims to be a file; writing-a-plugin.md should")
	}
}
