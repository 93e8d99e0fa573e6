package launch

import "github.com/hashicorp/go-hclog"

// quietLogger makes debug messages of go-plugin's warnings. They name no plugin, and what they warn of, a
// process that had to be killed, is in the error or the warning that this program has for it.
type quietLogger struct{ hclog.Logger }

// Warn logs at level debug.
func (c quietLogger) Warn(msg string, args ...any) { c.Debug(msg, args...) }

// Named keeps all parts of go-plugin calm.
func (c quietLogger) Named(name string) hclog.Logger { return quietLogger{c.Logger.Named(name)} }
