// Package subprocess starts a plugin as a host does, connects to it, and inspects its processes from
// outside.
package subprocess
