// Command parity runs the referee of the recorded Bash runs and summarizes its report:
//
//	parity -cases DIR COMMAND [ARGUMENT...]
//
// COMMAND is the referee; its output is passed on whole. Each line that starts with FAIL counts, but for those of
// disputed.txt, in which the referee contradicts itself or the decisions it is to enforce. A report that cannot be
// trusted (no verdict on some case of DIR, a crash, numbers that do not fit) fails as well. `make parity` runs it.
package main
