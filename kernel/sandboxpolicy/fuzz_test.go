package sandboxpolicy_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
)

// FuzzBytes reads any size: it is never negative, never more than the limit that the error speaks of, and reads
// the same when it is written in bytes.
func FuzzBytes(f *testing.F) {
	for _, seed := range []string{"512M", "2G", "16m", "1.5KiB", "0", "-1", "1e3", "0x10", "1024T", "1025T", " 7B ", "NaN", "+Inf", "K", "", "1_000", "-0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := sandboxpolicy.Bytes(text)
		if err != nil {
			if n != 0 {
				t.Errorf("%q is %d beside %v", text, n, err)
			}
			return
		}
		if n < 0 || n > 1<<50 {
			t.Fatalf("%q is %d bytes", text, n)
		}
		if again, err := sandboxpolicy.Bytes(strconv.FormatInt(n, 10)); err != nil || again != n {
			t.Errorf("%q is %d, which is %d, %v", text, n, again, err)
		}
		if size, err := sandboxpolicy.ParseSize(text); err == nil && (size != n || size < sandboxpolicy.MinSize) || err != nil && n >= sandboxpolicy.MinSize && n < math.MaxInt64 {
			t.Errorf("%q: %d bytes are %d of memory, %v", text, n, size, err)
		}
	})
}
