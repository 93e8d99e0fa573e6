// Package outcome decides how an attempt of an agent ended, for every kind of provider. A provider
// fills in [Evidence] and calls [Agent.Decide]. [Agent.Classify] finds the [Class] of an error. The
// package does no I/O and reads no clock. Attempts that a deadline or the caller ended are errors of
// Execute, not of this package.
package outcome
