package launch

import "github.com/hashicorp/go-hclog"

// calm makes debug messages of go-plugin's warnings. They name no plugin, and what they warn of, a
// process that had to be killed, is in the error or the warning that this program has for it.
type calm struct{ hclog.Logger }

// Warn logs at level debug.
func (c calm) Warn(msg string, args ...any) { c.Debug(msg, args...) }

// Named keeps all parts of go-plugin calm.
func (c calm) Named(name string) hclog.Logger { return calm{c.Logger.Named(name)} }
