// Package record is the recording stand-in for the kernel's end of an attempt. Packages plugintest and
// verify hold providers to what it wrote down.
package record
