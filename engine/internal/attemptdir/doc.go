// Package attemptdir keeps the files of an attempt: it gives the agent its paths, sets aside what earlier attempts of
// the iteration left there, refuses what abandoned ones still write, and publishes the results at the end.
//
// The agent of a first attempt writes its result files to the iteration's directory, as in the Bash engine. A retry
// gets a directory of its own, because the agent of an abandoned attempt may still write to the first one. Package
// attempt reads the results. Start with [Open].
package attemptdir
