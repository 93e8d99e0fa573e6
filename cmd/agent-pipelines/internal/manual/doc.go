// Package manual makes the pages of the manual, for `man`, from the grammar of the command line: one for the whole
// command and one for each of its verbs, as `git` and `cargo` have them. Start with [Pages].
//
// It knows no verb by name and writes no file.
package manual
