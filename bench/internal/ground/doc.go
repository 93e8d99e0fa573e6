// Package ground provides the basis of measurements: programs built from this workspace, projects,
// runs of the real command in them, and their journals. Start with [Prepare].
//
// All files are below one directory, which the caller creates and removes.
package ground
