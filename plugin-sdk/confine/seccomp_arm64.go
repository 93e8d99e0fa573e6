//go:build linux

package confine

import "golang.org/x/sys/unix"

// auditArch is the kernel's number of this architecture; foreignBit is 0, because there is no other ABI.
const (
	auditArch  = unix.AUDIT_ARCH_AARCH64
	foreignBit = 0
)
