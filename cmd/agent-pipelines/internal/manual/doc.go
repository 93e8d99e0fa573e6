// Package manual makes the pages of the manual, for `man`, from the grammar of the command line: one of the whole command and
// one of each of its verbs, as `git` and `cargo` have them. Start with [Pages].
//
// It knows no verb by name and writes no file.
package manual
