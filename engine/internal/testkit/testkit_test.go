package testkit

import (
	"errors"
	"fmt"
	"testing"
)

// recorder keeps the failures of a test.
type recorder struct {
	testing.TB
	failures []string
}

func (*recorder) Helper()             {}
func (r *recorder) Fatal(args ...any) { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Errorf(text string, a ...any) {
	r.failures = append(r.failures, fmt.Sprintf(text, a...))
}

// Each assertion fails where it should.
func TestFailures(t *testing.T) {
	var r recorder
	broken := errors.New("broken")
	OK(&r, nil)
	Equal(&r, 1, 1)
	Fails(&r, broken, "roke")
	Equal(t, 0, len(r.failures))
	OK(&r, broken)
	Equal(&r, 1, 2)
	Fails(&r, nil, "")
	Fails(&r, broken, "whole")
	Equal(t, 4, len(r.failures))
	defer func() { Equal(t, broken.Error(), fmt.Sprint(recover())) }()
	Must(1, broken)
}
