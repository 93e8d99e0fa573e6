package catalog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestParseRunning(t *testing.T) {
	got, err := catalog.ParseRunning(`{"b":{"protocol":"grpc","version":1,"pid":7,"addr":"/tmp/b"},"a":{"protocol":"grpc","version":1,"pid":6,"addr":"/tmp/a"}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []catalog.Plugin{
		{Name: "a", Path: "/tmp/a", Source: catalog.FromReattach, Running: &catalog.RunningProcess{Protocol: "grpc", Version: 1, PID: 6, Address: "/tmp/a"}},
		{Name: "b", Path: "/tmp/b", Source: catalog.FromReattach, Running: &catalog.RunningProcess{Protocol: "grpc", Version: 1, PID: 7, Address: "/tmp/b"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := catalog.ParseRunning(""); err != nil || got != nil {
		t.Errorf("nothing: got %v, %v", got, err)
	}
}

func TestParseRunningRefuses(t *testing.T) {
	for _, tt := range []struct{ text, message string }{
		{"x", "invalid character"},
		{"[]", "cannot unmarshal"},
		{`{"a":{"protocol":"grpc","version":1,"pid":6,"addr":"/a","tls":true}}`, `unknown field "tls"`},
		{`{"a":{"protocol":"grpc","version":1,"pid":6,"addr":"/a"}} {}`, "after the object"},
		{`{"A b":{"protocol":"grpc","version":1,"pid":6,"addr":"/a"}}`, `"A b" is no plugin's name`},
		{`{"a":{"protocol":"netrpc","version":1,"pid":6,"addr":"/a"}}`, `the protocol is "netrpc"`},
		{`{"a":{"protocol":"grpc","version":99,"pid":6,"addr":"/a"}}`, "version 99"},
		{`{"a":{"protocol":"grpc","version":1,"pid":6,"addr":"127.0.0.1:80"}}`, "no absolute path of a unix socket"},
		{`{"a":{"protocol":"grpc","version":1,"addr":"/a"}}`, "the pid is 0"},
	} {
		_, err := catalog.ParseRunning(tt.text)
		if failure.KindOf(err) != failure.ConfigInvalid || !strings.Contains(err.Error(), tt.message) || !strings.Contains(failure.From(err).Hint, "agent-plugin-x debug") {
			t.Errorf("%s: got %v", tt.text, err)
		}
	}
}

// FuzzParseRunning: every result can be dialled, for any value of the variable.
func FuzzParseRunning(f *testing.F) {
	f.Add(`{"a":{"protocol":"grpc","version":1,"pid":6,"addr":"/tmp/a"}}`)
	f.Add(`{"a":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		found, err := catalog.ParseRunning(text)
		if err != nil && failure.KindOf(err) != failure.ConfigInvalid {
			t.Errorf("%q: error %v", text, err)
		}
		for _, c := range found {
			if c.Name == "" || c.Running == nil || !strings.HasPrefix(c.Path, "/") {
				t.Errorf("%q: got %+v", text, c)
			}
		}
	})
}
