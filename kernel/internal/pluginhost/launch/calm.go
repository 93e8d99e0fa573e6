package launch

import "github.com/hashicorp/go-hclog"

// calm makes debug messages of go-plugin's warnings. They name no plugin, and what they warn of, a
// process that had to be killed, is in the error or the warning that this program has for it.
type calm struct{ hclog.Logger }

// Warn logs at level debug.
func (c calm) Warn(msg string, args ...any) { c.Debug(msg, args...) }

// Named keeps go-plugin's own part calm; what plugins say on stderr goes to other names and stays as
// loud as it was.
func (c calm) Named(name string) hclog.Logger {
	if name == "stdio" {
		return calm{c.Logger.Named(name)}
	}
	return c.Logger.Named(name)
}
