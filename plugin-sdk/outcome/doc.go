// Package outcome decides how an attempt of an agent ended, for every kind of provider: one that runs
// an agent's command line, one that speaks a protocol with an agent, one that calls a model itself.
//
// A provider gathers [Evidence] and asks its [Agent]:
//
//	var agent = outcome.Agent{Name: "claude", Final: "its result event", Signs: …, Hints: …}
//	result.Outcome, result.Error = agent.Decide(outcome.Evidence{Spoke: true, LastWord: outcome.Failure, …})
//
// The answer is the first of these that holds:
//
//	the agent wrote no events         exit code 0: succeeded, or empty if it printed nothing;
//	                                  else the class of what it printed; else infrastructure
//	it reported an error              the class of the error
//	it left without its last word     the class of an error that it told of; else infrastructure
//	its process ended badly           infrastructure
//	it was not allowed to use a tool  permission denied
//	it said and did nothing           empty
//	otherwise                         succeeded
//
// So no word of success beats evidence against it, and no exit code is believed alone. The rows are in
// [Agent.Decide]; the classes of errors, and which outcome, error type and advice each has, are the
// table behind [Class]. A class is found by the words of the API's error, by its HTTP status and by
// the text of its message ([Agent.Classify]): tables that all agents share, and those of the agent,
// which come first.
//
// The package does no I/O and reads no clock. It does not judge attempts that a deadline or the caller
// ended: those are errors of Execute.
package outcome
