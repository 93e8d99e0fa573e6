// Package record provides a recording fake of the kernel's end of an attempt, for packages
// plugintest and verify.
package record
