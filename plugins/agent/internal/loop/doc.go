// Package loop runs one attempt. It asks a model, makes the tool calls that the model requests, and returns their
// results to the model. It continues until the model finishes and checks confirm its claim, or a limit is reached.
//
// Start with [Run]. A turn is one reply of the model:
//
//	reply ── checkpoint ── its calls ── checkpoint ── next reply          turn.go, call.go, checkpoint.go
//	           reads in parallel, everything else in order
//	finish ── its claim is checked ── result.json, or sent back           finish.go, claim.go, result.go
//
// The conversation (conversation.go) is the loop's whole state and the content of a checkpoint. It is kept small: the
// last ten results in full, older ones in one line, the oldest turns only as a number (window.go). An interrupted
// attempt continues from a checkpoint: it uses the results that the kernel has, and repeats no call that has a result.
//
// The loop uses the tools as [Tools] and the service as a model.Client.
package loop
