//go:build linux

package sandbox

import "golang.org/x/sys/unix"

// auditArch names this architecture's system calls to the kernel, foreignBit those of another ABI: it has none.
const (
	auditArch  = unix.AUDIT_ARCH_AARCH64
	foreignBit = 0
)
