// Package plan holds the immutable plan that a pipeline is compiled to: the nodes in order with everything resolved,
// in the JSON shape of plan.json.
//
// A pipeline that uses none of the newer keys compiles to the JSON of the Bash engine's compiler, key-sorted: version 1
// of the format. A newer key appears only if the source uses it. Package compile makes plans, all others only read
// them. Start with [Plan] and [Node].
package plan
