//go:build linux

package confine

import "golang.org/x/sys/unix"

// auditArch is the kernel's number of this architecture; foreignBit marks the system calls of its other ABI (x32).
const (
	auditArch  = unix.AUDIT_ARCH_X86_64
	foreignBit = 0x40000000
)
