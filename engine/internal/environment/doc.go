// Package environment opens what all sessions of an engine share: the configuration of the engine, both settings
// files, the project and the plugin host. It also configures and confines the components of a node.
//
// It runs no session and knows no run's options. Start with [Open] and [Environment].
package environment
