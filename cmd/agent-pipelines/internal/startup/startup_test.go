package startup

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// The first collection restores the default; a user's GOGC is untouched.
func TestFirstCollectionRestoresTheDefault(t *testing.T) {
	if os.Getenv("GOGC") != "" {
		t.Fatal("unset GOGC")
	}
	for deadline := time.Now().Add(time.Minute); ; {
		runtime.GC()
		got := debug.SetGCPercent(percent)
		if got == percent {
			return
		}
		debug.SetGCPercent(got)
		if got != firstPercent || time.Now().After(deadline) {
			t.Fatalf("GOGC is %d", got)
		}
		time.Sleep(time.Millisecond)
	}
}
