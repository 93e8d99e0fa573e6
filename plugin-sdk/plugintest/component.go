package plugintest

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// checkDescription checks that the component and the plugin return the same description.
func checkDescription(t *testing.T, s side, kind sdk.Kind, want sdk.Component) {
	t.Helper()
	if len(s.description.Components) != 1 {
		t.Fatalf("got %d components, want the one under test", len(s.description.Components))
	}
	got := s.description.Components[0]
	if got.Kind != kind || got.Name != want.Name {
		t.Errorf("got %s %q, want %s %q", got.Kind, got.Name, kind, want.Name)
	}
	if diff := cmp.Diff(want.Capabilities, got.Capabilities); diff != "" {
		t.Errorf("capabilities (-component +description):\n%s", diff)
	}
	if !jsonEqual(want.ConfigSchema, got.ConfigSchema) {
		t.Errorf("config_schema: the component says %s, the description %s", want.ConfigSchema, got.ConfigSchema)
	}
}

func jsonEqual(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	var left, right any
	return json.Unmarshal(a, &left) == nil && json.Unmarshal(b, &right) == nil && cmp.Equal(left, right)
}

// prepare calls Init and then Validate, as the kernel does before other calls.
func prepare(t *testing.T, component any, model string, config json.RawMessage) {
	t.Helper()
	initialize(t, component)
	if v, ok := component.(sdk.Validator); ok {
		if err := v.Validate(testContext(t), sdk.ValidateRequest{Model: model, Config: config}); err != nil {
			t.Fatalf("validate refuses the configuration of the test: %v", err)
		}
	}
}

func initialize(t *testing.T, component any) {
	t.Helper()
	if i, ok := component.(sdk.Initializer); ok {
		if err := i.Init(testContext(t), sdk.InitRequest{WorkDir: t.TempDir(), RunMarker: "plugintest"}); err != nil {
			t.Fatalf("init: %v", err)
		}
	}
}

// garbage returns configurations that no component accepts.
func garbage() []json.RawMessage {
	return []json.RawMessage{
		json.RawMessage(`{"unfinished": `),
		json.RawMessage("\x00\xff\xfe"),
		json.RawMessage(`[[[[`),
	}
}

// checkRefused checks that a component with a Validate refuses invalid configurations, and the author's
// refused ones, with config_invalid. validates reports whether the component itself has a Validate,
// because a client always has one.
func checkRefused(t *testing.T, component any, validates bool, refused []json.RawMessage) {
	t.Helper()
	initialize(t, component)
	v, ok := component.(sdk.Validator)
	if !ok || !validates {
		if len(refused) > 0 {
			t.Error("the configuration of the test names refused configs, but the component has no Validate")
		}
		return
	}
	for _, config := range append(garbage(), refused...) {
		err := v.Validate(testContext(t), sdk.ValidateRequest{Config: config})
		switch {
		case err == nil:
			t.Errorf("validate accepts %q", config)
		case isFailure(err) && failure.KindOf(err) != failure.ConfigInvalid:
			t.Errorf("validate refuses %q with %s, want %s: %v", config, failure.KindOf(err), failure.ConfigInvalid, err)
		}
	}
}

// isFailure distinguishes a failure.Error from an error that gets its kind only on the wire.
func isFailure(err error) bool {
	return failure.KindOf(err) != failure.Internal
}

func validates(component any) bool {
	_, ok := component.(sdk.Validator)
	return ok
}

// concurrently makes n concurrent calls and waits for all of them.
func concurrently(n int, call func(i int)) {
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { call(i) })
	}
	calls.Wait()
}
