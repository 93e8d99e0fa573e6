// Package doctor looks at the machine for `doctor`: directories, programs, limits. It starts nothing but `git --version` and
// `tmux -V`, writes nothing but a file that it removes, and gives a [Check] for each thing. What plugins and isolation are like,
// the kernel tells. Start at [Check].
package doctor
