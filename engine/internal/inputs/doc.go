// Package inputs gathers the inputs of an iteration and writes context.json, version 3 of that format (BASH-BEHAVIOUR
// 4.2, REQUIREMENTS U094 to U096).
//
// All lists have a fixed order: by iteration, and by path. Start with [Reader].
package inputs
