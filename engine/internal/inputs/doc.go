// Package inputs gathers what an iteration is given and writes it down as context.json, version 3
// of that format (BASH-BEHAVIOUR 4.2, REQUIREMENTS U094 to U096).
//
// The order of everything gathered is fixed: by iteration, and by path. Start with [Reader].
package inputs
