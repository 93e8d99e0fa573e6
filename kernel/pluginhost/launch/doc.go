// Package launch starts a verified binary as a plugin.
//
// [Launcher.Start] starts the process (package process), makes go-plugin's handshake, connects, checks
// the peer of the socket and waits for a health check. Each error is a failure that names the file,
// the cause and the remedy; nothing takes longer than the start timeout. An [Instance] is the running
// plugin. A [LogWriter] logs the plugin's stderr.
package launch
