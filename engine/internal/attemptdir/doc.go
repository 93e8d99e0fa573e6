// Package attemptdir keeps the files of an attempt. It gives the agent its paths and moves the files of earlier
// attempts of the iteration aside. It undoes and records late writes of abandoned attempts. At the end it publishes
// the results.
//
// The agent of a first attempt writes its result files to the iteration's directory, as in the Bash engine. A retry
// gets a directory of its own, because the agent of an abandoned attempt may still write to the iteration's
// directory. Package attempt reads the results. Start with [Open].
package attemptdir
