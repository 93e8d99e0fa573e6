package process

import (
	"hash/fnv"

	"golang.org/x/sys/unix"
)

// tag is the run marker in a place that programs do not clear by accident: the soft limit on file locks. Linux has not
// enforced RLIMIT_LOCKS since 2.4.25, and every descendant inherits the limit, whatever becomes of its environment,
// its session and its parents. The number is beyond all real limits. Bit 61 is set, 36 bits are a digest of the marker
// and 25 the number of the plugin process.
//
// A process could remove the tag on purpose, as it could clear its environment; only a PID namespace prevents that.
type tag uint64

const (
	tagBit     tag = 1 << 61
	numberBits     = 25
)

// newTag returns the tag of a plugin process.
func newTag(m Marker, number int) tag {
	h := fnv.New64a()
	_, _ = h.Write([]byte(m.String()))
	return tagBit | tag(h.Sum64()>>28)<<numberBits | tag(number)&(1<<numberBits-1)
}

// sameRun reports whether both tags belong to processes of one kernel and run.
func (s tag) sameRun(t tag) bool { return s.valid() && s>>numberBits == t>>numberBits }

// valid reports whether s is a tag and neither a real limit nor "no limit".
func (s tag) valid() bool { return s>>61 == 1 }

// setTag tags a process that was just started. Processes that it has already started have no tag and are found
// only by their environment. setTag does nothing if the hard limit is lower than the tag.
func setTag(pid int, s tag) {
	var limit unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit) != nil || limit.Max < uint64(s) {
		return
	}
	limit.Cur = uint64(s)
	_ = unix.Prlimit(pid, unix.RLIMIT_LOCKS, &limit, nil)
}

// readTag returns the tag of a process. The result is not valid if the process has no tag or belongs to another user.
func readTag(pid int) tag {
	var limit unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit) != nil {
		return 0
	}
	return tag(limit.Cur)
}
