package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// FromReattach is the source of a plugin whose process already runs and is named in the variable.
const FromReattach Source = client.ReattachVariable

// ParseRunning reads the value of the user's variable, as printed by `agent-plugin-x debug`: an object with one member
// per plugin. An empty text names no plugin. The error is a failure of kind config_invalid.
func ParseRunning(text string) ([]Plugin, error) {
	if text == "" {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	var running map[string]RunningProcess
	err := decoder.Decode(&running)
	if _, more := decoder.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("unexpected text after the object")
	}
	if err != nil {
		return nil, reattachError(err)
	}
	var found []Plugin
	for _, name := range slices.Sorted(maps.Keys(running)) {
		r := running[name]
		if err := r.check(name); err != nil {
			return nil, reattachError(err)
		}
		found = append(found, Plugin{Name: name, Path: r.Address, Source: FromReattach, Running: &r})
	}
	return found, nil
}

func (r RunningProcess) check(name string) error {
	_, spoken := client.PluginSets()[r.Version]
	switch {
	case !validName.MatchString(name):
		return fmt.Errorf("%q is not the name of a plugin", name)
	case r.Protocol != "grpc":
		return fmt.Errorf("plugin %s: the protocol is %q, not grpc", name, r.Protocol)
	case !spoken:
		return fmt.Errorf("plugin %s speaks version %d of the plugin protocol, which this program does not", name, r.Version)
	case !filepath.IsAbs(r.Address):
		return fmt.Errorf("plugin %s: the address %q is not an absolute path of a unix socket", name, r.Address)
	case r.PID <= 0:
		return fmt.Errorf("plugin %s: the pid is %d", name, r.PID)
	}
	return nil
}

func reattachError(err error) error {
	return failure.New(failure.ConfigInvalid, "%s: %w", FromReattach, err).
		WithHint("copy the line that `agent-plugin-x debug` printed, or unset %s", FromReattach)
}
