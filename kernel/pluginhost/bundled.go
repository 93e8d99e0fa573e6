package pluginhost

import (
	"os"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Bundled is a plugin that the running program serves itself, see [catalog.Bundled].
type Bundled = catalog.Bundled

// FromBundle is the source of such a plugin in a [Listing].
const FromBundle = catalog.FromBundle

// checkBundled refuses a list that cannot work. A process that was itself started to serve a bundled plugin
// and comes here instead would start itself again, and so would the next one, without end.
func checkBundled(bundled []Bundled) error {
	if err := catalog.CheckBundled(bundled); err != nil {
		return failure.New(failure.ConfigInvalid, "%w", err).WithHint("repair the list of bundled plugins in the program")
	}
	cookie := client.Handshake()
	if os.Getenv(cookie.MagicCookieKey) != cookie.MagicCookieValue || len(os.Args) == 0 {
		return nil
	}
	for _, b := range bundled {
		if given := os.Args[1:]; len(given) >= len(b.Args) && slices.Equal(given[:len(b.Args)], b.Args) {
			return failure.New(failure.ConfigInvalid, "this process was started to serve plugin %s and hosts plugins instead", b.Name).
				WithHint("a program with bundled plugins must look at its arguments first, and call serve.Run where they are those of a plugin")
		}
	}
	return nil
}
