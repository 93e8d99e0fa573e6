// Package crash kills the kernel with SIGKILL at each of its numbered crash points and at random moments, and
// resumes. It compares the result with that of an undisturbed run (REQUIREMENTS U047, D2). It does the same with the
// loss of writes that were not synced, as in a power failure. It also checks that the tests detect a kernel with one
// defect.
//
// The tests have the build tag crashpoints, because the binary under test is built with it. `make crash` runs them all,
// `make crash-short` a sample for CI.
//
// Start with subject_test.go (the pipelines that are killed) and matrix_test.go (the crash points).
package crash
