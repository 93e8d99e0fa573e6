// Package crash kills the kernel with SIGKILL at each of its numbered crash points and at random
// moments, resumes, and compares what is there at the end with an undisturbed run (REQUIREMENTS U047,
// D2). The tests stand behind the build tag crashpoints, because the binary under test is built with
// it: `make crash`.
package crash
