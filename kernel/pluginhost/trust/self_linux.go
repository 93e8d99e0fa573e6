package trust

import "os"

// self is the program of this process.
type self struct{ path string }

func thisProgram() self { return self{path: selfPath()} }

// open opens what runs, whatever lies at its path by now: the link leads to the file itself, even to
// one that has no name any more.
func (self) open() (*os.File, error) { return os.Open("/proc/self/exe") }
