//go:build linux

package sandbox

import "golang.org/x/sys/unix"

// auditArch names this architecture's system calls to the kernel, foreignBit those of its other ABI (x32).
const (
	auditArch  = unix.AUDIT_ARCH_X86_64
	foreignBit = 0x40000000
)
