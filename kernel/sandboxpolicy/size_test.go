package sandboxpolicy_test

import (
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
