package cliagent

import (
	"math/rand/v2"

	"golang.org/x/sys/unix"
)

// sealed is the bit that makes a limit a seal: no real limit is that high.
const sealed uint64 = 1 << 61

// putSeal marks the root in a place that no program clears by the way: its soft limit of real-time processor time, in
// microseconds, becomes a random number of tens of thousands of years. Every descendant inherits it, whatever becomes of its
// environment, session and parents. What the root started before this is not sealed: it gets its prompt afterwards. It does
// nothing where the hard limit is lower. The limit on file locks, which would do as well, is the kernel's.
func (f *family) putSeal() {
	var limit unix.Rlimit
	if unix.Prlimit(f.root, unix.RLIMIT_RTTIME, nil, &limit) != nil {
		return
	}
	seal := sealed | rand.Uint64N(sealed)
	if limit.Max < seal {
		return
	}
	limit.Cur = seal
	if unix.Prlimit(f.root, unix.RLIMIT_RTTIME, &limit, nil) == nil {
		f.seal = seal
	}
}

// hasSeal says whether the process has inherited the seal.
func (f *family) hasSeal(pid int) bool {
	var limit unix.Rlimit
	return f.seal != 0 && unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit) == nil && limit.Cur == f.seal
}
