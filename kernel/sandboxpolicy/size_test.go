package sandboxpolicy_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"16777216": 16 << 20, "512M": 512 << 20, "512MiB": 512 << 20, "2G": 2 << 30, "1.5g": 3 << 29, "20000K": 20000 << 10,
	} {
		if got, err := sandboxpolicy.ParseSize(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "G", "-1G", "1X", "1GG", "nan", "inf", "1 0G", "15M", "2000T"} {
		if got, err := sandboxpolicy.ParseSize(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// FuzzBytes reads any size: it is never negative, never above the limit, and the same size in bytes reads the same.
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
