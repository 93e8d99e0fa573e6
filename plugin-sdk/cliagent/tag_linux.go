package cliagent

import (
	"math/rand/v2"

	"golang.org/x/sys/unix"
)

// tagBit is the bit that marks a limit as a tag: no real limit is that high.
const tagBit uint64 = 1 << 61

// setTag sets the root's soft limit of real-time processor time, in microseconds, to a random
// number: the tag, more than 70,000 years. Every descendant inherits the limit, even with another
// environment, session or parent.
//
// Processes that the root started earlier have no tag, but the root gets its prompt only
// afterwards. Nothing happens if the hard limit is lower. The limit on file locks would work as
// well, but the kernel of agent-pipelines uses that limit for its own tag.
func (f *family) setTag() {
	var limit unix.Rlimit
	if unix.Prlimit(f.root, unix.RLIMIT_RTTIME, nil, &limit) != nil {
		return
	}
	tag := tagBit | rand.Uint64N(tagBit)
	if limit.Max < tag {
		return
	}
	limit.Cur = tag
	if unix.Prlimit(f.root, unix.RLIMIT_RTTIME, &limit, nil) == nil {
		f.tag = tag
	}
}

// hasTag reports whether the process has inherited the tag.
func (f *family) hasTag(pid int) bool {
	var limit unix.Rlimit
	return f.tag != 0 && unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit) == nil && limit.Cur == f.tag
}
