// Package why explains in sentences why a session has its present status: the start, continuation, return, wait, failure or
// end that caused it, and the possible next commands.
//
// [Causes] collects the causes from the entries of a timeline; repeated causes are one [Cause]. [Explain] adds the
// session's status and sorts the latest cause first. The package reads no file and no clock.
package why
