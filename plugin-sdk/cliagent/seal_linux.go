package cliagent

import (
	"math/rand/v2"

	"golang.org/x/sys/unix"
)

// sealBit is the bit that marks a limit as a seal: no real limit is that high.
const sealBit uint64 = 1 << 61

// putSeal sets the root's soft limit of real-time processor time, in microseconds, to a random
// number: the seal, more than 70,000 years. Every descendant inherits the limit, even with another
// environment, session or parent.
//
// Processes that the root started earlier have no seal, but the root gets its prompt only
// afterwards. Nothing happens if the hard limit is lower. The limit on file locks would work as
// well, but the kernel of agent-pipelines uses that limit for its own seal.
func (f *family) putSeal() {
	var limit unix.Rlimit
	if unix.Prlimit(f.root, unix.RLIMIT_RTTIME, nil, &limit) != nil {
		return
	}
	seal := sealBit | rand.Uint64N(sealBit)
	if limit.Max < seal {
		return
	}
	limit.Cur = seal
	if unix.Prlimit(f.root, unix.RLIMIT_RTTIME, &limit, nil) == nil {
		f.seal = seal
	}
}

// hasSeal reports whether the process has inherited the seal.
func (f *family) hasSeal(pid int) bool {
	var limit unix.Rlimit
	return f.seal != 0 && unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit) == nil && limit.Cur == f.seal
}
