package catalog

import "os"

// selfProgram is the program of this process.
type selfProgram struct{ path string }

func runningProgram(path string) selfProgram { return selfProgram{path: path} }

// open opens the running program, even if its file was replaced or deleted.
func (selfProgram) open() (*os.File, error) { return os.Open("/proc/self/exe") }
