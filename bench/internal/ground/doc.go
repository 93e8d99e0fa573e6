// Package ground is what measurements stand on: the programs, built from this workspace; projects in
// a directory of their own; runs of the real command in them; and their journals, read afterwards.
//
// Everything lies below one directory, which the caller makes and removes. Start with [Prepare].
package ground
