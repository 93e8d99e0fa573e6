// Package loop works on one attempt: it asks a model, makes the tool calls that it asks for, tells it of their results,
// and goes on until the model says that it is done and that holds, or until a limit is reached.
//
// [Run] is the way in. A turn is one reply of the model:
//
//	reply ── checkpoint ── its calls ── checkpoint ── next reply          turn.go, call.go, checkpoint.go
//	           reads side by side, everything else in order
//	finish ── what it claims is looked at ── result.json, or sent back    finish.go, claim.go, result.go
//
// The talk (talk.go) is all that the loop knows, and what a checkpoint holds. It is kept small: the last ten results
// are there in full, older ones in a line, the oldest turns only as a number (window.go). An attempt that was cut off
// goes on from it (resume.go): the results that the kernel has are used, and no call is made twice.
//
// The loop knows neither the tools nor the service: it meets them as [Tools] and as a model.Client.
package loop
