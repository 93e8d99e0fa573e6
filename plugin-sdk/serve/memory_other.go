//go:build !linux

package serve

// DenyMemoryAccess does nothing on this system.
func DenyMemoryAccess() {}
