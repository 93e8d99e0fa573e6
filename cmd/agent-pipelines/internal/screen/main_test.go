package screen

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// require ends the test and shows the values unless ok.
func require(t testing.TB, ok bool, values ...any) {
	t.Helper()
	if !ok {
		for _, v := range values {
			t.Logf("%+v", v)
		}
		t.FailNow()
	}
}
