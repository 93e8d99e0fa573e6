// Package doctor inspects the machine for `doctor`: directories, programs, limits. It starts nothing but `git
// --version` and `tmux -V`, writes nothing but a file that it removes, and returns a [Check] for each thing. The
// engine reports on plugins and isolation. Start at [Check].
package doctor
