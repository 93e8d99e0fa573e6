// Package screen shows a person what happens in a session while it runs.
//
// [Narrator] turns updates of the kernel into plain lines; [Plain] writes them as they come, for
// pipes and log files, and [Live] writes them above a few lines that it redraws in place, for
// terminals. The package decides nothing and reads nothing but the updates it is given.
package screen
