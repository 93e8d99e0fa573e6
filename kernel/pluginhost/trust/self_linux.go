package trust

import "os"

// selfProgram is the program of this process.
type selfProgram struct{ path string }

func runningProgram() selfProgram { return selfProgram{path: programPath()} }

// open opens what runs, whatever lies at its path by now: the link leads to the file itself, even to
// one that has no name any more.
func (selfProgram) open() (*os.File, error) { return os.Open("/proc/self/exe") }
