// Package record provides a fake of the kernel's side of an attempt that records all calls, for packages plugintest and
// verify.
package record
