package process

import (
	"hash/fnv"

	"golang.org/x/sys/unix"
)

// tag is the run marker in a place that programs do not clear by accident: the soft limit on file locks. Linux
// has not enforced RLIMIT_LOCKS since 2.4.25, and every descendant inherits it, whatever becomes of its
// environment, its session and its parents. The number is beyond all real limits: bit 61 is set, 36 bits are
// those of the marker and 25 those of the plugin process.
//
// A process could remove it on purpose, as it could clear its environment; only a PID namespace prevents that.
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

// valid distinguishes a tag from a real limit, and from none.
func (s tag) valid() bool { return s>>61 == 1 }

// setTag tags a process that was just started. Processes that it has already started have no tag and are found
// only by their environment. It does nothing if the hard limit is lower.
func setTag(pid int, s tag) {
	var limit unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit) != nil || limit.Max < uint64(s) {
		return
	}
	limit.Cur = uint64(s)
	_ = unix.Prlimit(pid, unix.RLIMIT_LOCKS, &limit, nil)
}

// readTag returns the tag of a process; it is not valid for a process without one or of another user.
func readTag(pid int) tag {
	var limit unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit) != nil {
		return 0
	}
	return tag(limit.Cur)
}
