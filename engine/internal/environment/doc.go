// Package environment opens the shared parts of all sessions of an engine: its configuration, both settings
// files, the project and the plugin host. It also configures and confines the components of a node.
//
// It runs no session and does not depend on the options of a run. Start with [Open] and [Environment].
package environment
