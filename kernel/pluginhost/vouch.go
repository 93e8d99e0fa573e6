package pluginhost

import (
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/trust"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Trust remembers in the user's configuration that the user trusts a directory: what lies below it may
// then name plugin directories and widen settings. It is refused where the configuration lies inside the
// project, see [discovery.Trusts].
func (h *Host) Trust(dir string) error {
	if err := h.checkConfigDir("nothing can be trusted"); err != nil {
		return err
	}
	return h.trustStore().Trust(dir)
}

// Distrust takes the trust in a directory back, and says whether there was any. A directory above it that is
// trusted still covers it.
func (h *Host) Distrust(dir string) (was bool, err error) { return h.trustStore().Distrust(dir) }

// Trusted lists the directories that the user trusts, sorted.
func (h *Host) Trusted() ([]string, error) { return h.trustStore().Trusted() }

func (h *Host) trustStore() trust.Store { return trust.Store{Dir: h.cfg.ConfigDir} }

// checkConfigDir refuses what would be said in a configuration directory that lies inside the project, and so would
// be the project's word. What completes the message.
func (h *Host) checkConfigDir(what string) error {
	if !catalog.ConfigInProject(h.cfg.ConfigDir, h.cfg.WorkDir, lookupEnv(h.cfg.Environ, "HOME")) {
		return nil
	}
	return failure.New(failure.ConfigInvalid, "%s from %s: your configuration directory %s lies inside this project, which could trust itself",
		what, h.cfg.WorkDir, h.cfg.ConfigDir).
		WithHint("let XDG_CONFIG_HOME name a directory outside of the project, or unset it")
}
