package cliagent

// family is everything that descends from one started process. It belongs to one Run and is not safe
// for concurrent use. Its methods begin, note and signal
// depend on the system.
type family struct {
	// root is the process id of the first process, and so the id of its group.
	root int
	// mark is the environment entry that every member inherits.
	mark string
	// seal is the same for those that clear their environment, 0 where there is none.
	seal uint64
	// known are the members seen so far: process id to start time, which together tell a process from a
	// later one with the same id.
	known map[int]uint64
}
