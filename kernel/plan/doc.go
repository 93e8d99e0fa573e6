// Package plan holds the immutable plan that a pipeline is compiled to: the nodes in order with
// everything resolved, in the JSON shape of plan.json.
//
// A pipeline that uses none of the newer keys compiles to the same JSON, key-sorted, as the Bash
// engine's compiler made (version 1 of the format); a newer key appears only when the source used
// it. Package compile makes plans, every other room only reads them. Start with [Plan] and [Node].
package plan
