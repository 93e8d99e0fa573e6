package crashtest_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if defect, fake := os.LookupEnv(fakeVariable); fake {
		os.Exit(runFake(defect, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}
