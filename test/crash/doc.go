// Package crash kills the kernel with SIGKILL at each of its numbered crash points and at random moments, resumes, and
// compares what is there at the end with an undisturbed run (REQUIREMENTS U047, D2). It does the same with the loss of
// what was not synced, as when the power fails, and shows that a kernel that is wrong in one way is found out. The tests
// have the build tag crashpoints, because the binary under test is built with it: `make crash`, and a sample of
// it that CI has time for: `make crash-short`.
//
// Start with subject_test.go (what is cut off) and matrix_test.go (where).
package crash
