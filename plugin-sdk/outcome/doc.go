// Package outcome decides how an attempt of an agent ended, for every kind of provider. A provider
// fills in [Evidence] and calls [Agent.Decide], which applies the first matching rule:
//
//	the agent wrote no events       exit code 0: succeeded, or empty without output;
//	                                else the class of its output; else infrastructure
//	it reported an error            the class of the error; permission denied
//	                                if the class is unknown and a tool was denied
//	it ended without a final event  the class of an earlier error; else infrastructure
//	its process ended abnormally    infrastructure
//	it was denied a tool            permission denied
//	it wrote no text, used no tool  empty
//	otherwise                       succeeded
//
// [Agent.Classify] finds the [Class] of an error. The package does no I/O and reads no clock.
// Attempts that a deadline or the caller ended are errors of Execute, not of this package.
package outcome
