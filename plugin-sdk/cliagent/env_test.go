package cliagent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

func TestEnviron(t *testing.T) {
	base := []string{
		"PATH=/bin", "HOME=/old", "HOME=/h", "EMPTY=", "broken", "PLUGIN_MIN_PORT=1", "PLUGIN_CLIENT_CERT=x",
		wire.CookieKey + "=secret", CallVariable + "=outer", "WITH=a=b", "PLUGINS=kept",
	}
	got := Environ(base, map[string]string{"HOME": "/mine", "NEW": "1", "PLUGIN_UNIX_SOCKET_DIR": "/x"})
	want := []string{"EMPTY=", "HOME=/mine", "NEW=1", "PATH=/bin", "PLUGINS=kept", "WITH=a=b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestGetenv(t *testing.T) {
	env := []string{"A=1", "B=x=y", "A=2", "AB=3"}
	for name, want := range map[string]string{"A": "2", "B": "x=y", "C": ""} {
		if got := Getenv(env, name); got != want {
			t.Errorf("Getenv(%s) = %q, want %q", name, got, want)
		}
	}
}
