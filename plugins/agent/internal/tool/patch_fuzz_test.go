package tool

import (
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
)

// FuzzApplyDiff: U171, U177: no diff causes a panic. A diff made from two texts turns the first into the second, and is
// recognized as applied to the second.
func FuzzApplyDiff(f *testing.F) {
	f.Add("one\ntwo\nthree\n", "one\n2\nthree\n", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n")
	f.Add("one\n", "one\ntwo", "@@ -1 +1,2 @@\n one\n+two\n\\ No newline at end of file\n")
	f.Add("x", "", "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n")
	f.Add("a\n", "a\na\na\n", "@@ -1,1 +2,0 @@\n-a\n")
	f.Add("a", "b", "@@ -9223372036854775807,1 +1,1 @@\n-a\n+b\n")
	f.Add("x\r\ny", "y\r\nx", "GIT binary patch\nliteral 1\nIcmZ\n\n")
	f.Fuzz(func(t *testing.T, before, after, unified string) {
		_, _, _ = applyDiff(before, unified, false)
		_, _, _ = applyDiff(before, unified, true)
		made := udiff.Unified("a/x", "b/x", before, after)
		if made == "" || before == "" || after == "" || strings.Count(made, "\n@@ ") > maxHunks { // a diff from or to nothing makes or deletes the file
			return
		}
		got, _, err := applyDiff(before, made, false)
		if err != nil || got != after {
			t.Fatalf("%q became %q, not %q: %v\n%s", before, got, after, err, made)
		}
		if got, applied, err := applyDiff(after, made, true); err != nil || !applied || got != after {
			t.Fatalf("%q is not recognized as changed: %q, %v\n%s", after, got, err, made)
		}
	})
}
