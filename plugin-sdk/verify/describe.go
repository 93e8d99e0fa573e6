package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/describe"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/schema"
)

// exec runs the program without a handshake and waits for its end.
func (t *trial) exec(ctx context.Context, args ...string) (stdout, stderr string, code int, err error) {
	ctx, cancel := subprocess.WithTimeout(ctx, subprocess.StartLimit)
	defer cancel()
	var out, words bytes.Buffer
	cmd := exec.CommandContext(ctx, t.target.Path, slices.Concat(t.target.Args, args)...)
	cmd.Env, cmd.Dir = t.opts.Environment, t.dir
	cmd.Stdout, cmd.Stderr = &out, &words
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		err = nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = fmt.Errorf("it did not end within %s", subprocess.StartLimit)
	}
	return out.String(), words.String(), cmd.ProcessState.ExitCode(), err
}

func checkByHand(ctx context.Context, t *trial, _ *subprocess.Session, _ sdk.Component) finding {
	const do = "without the cookie in " + wire.CookieKey + " write an explanation to stderr, nothing to stdout, and exit 2"
	stdout, stderr, code, err := t.exec(ctx)
	switch {
	case err != nil:
		return fail(do, "%s", subprocess.Shorten(err.Error()))
	case code == 0:
		return fail(do, "it exits 0, as after success")
	case stdout != "":
		return fail(do, "it prints on stdout: %s", subprocess.Shorten(stdout))
	case strings.TrimSpace(stderr) == "":
		return fail(do, "it exits %d without a message on stderr", code)
	}
	return pass("exit code %d: %s", code, subprocess.Shorten(stderr))
}

func checkDescribe(ctx context.Context, t *trial, _ *subprocess.Session, _ sdk.Component) finding {
	const do = "print the description as one JSON object on stdout for the argument describe, and exit 0"
	stdout, stderr, code, err := t.exec(ctx, "describe")
	switch {
	case err != nil:
		return fail(do, "%s", subprocess.Shorten(err.Error()))
	case code != 0:
		return fail(do, "describe exits %d: %s", code, subprocess.Shorten(stderr))
	}
	var d sdk.Description
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		return fail(do, "describe does not print a JSON object (%v): %s", err, subprocess.Shorten(stdout))
	}
	t.description = describe.Complete(d)
	if err := client.CheckDescription(d); err != nil {
		return fail("correct the description", "%s", subprocess.Shorten(err.Error()))
	}
	if unknown := t.opts.Cases.unknown(d); len(unknown) > 0 {
		t.callerError = fmt.Errorf("the cases name components that the plugin does not serve: %s", strings.Join(unknown, ", "))
	}
	t.opts.Cases = t.opts.Cases.with(t.opts.Normal, d)
	names := make([]string, 0, len(d.Components))
	for _, c := range d.Components {
		names = append(names, label(c))
	}
	return pass("%s %s: %s", d.Name, d.Version, strings.Join(names, ", "))
}

func checkName(_ context.Context, t *trial, _ *subprocess.Session, _ sdk.Component) finding {
	if got := t.description.Name; got != t.target.Name {
		return fail(fmt.Sprintf("call the file agent-plugin-%s, or the plugin %s", got, t.target.Name),
			"its name is %q, the file's is %q", got, t.target.Name)
	}
	return pass("%s", t.description.Name)
}

func checkVersion(_ context.Context, t *trial, _ *subprocess.Session, _ sdk.Component) finding {
	d := t.description
	if !slices.Contains(d.Protocols, wire.Protocol) {
		return fail(fmt.Sprintf("name the protocol majors that it speaks: \"protocols\": [%d]", wire.Protocol),
			"protocols are %v, this program speaks %d", d.Protocols, wire.Protocol)
	}
	return pass("version %s, protocols %v", d.Version, d.Protocols)
}

func checkSameDescription(ctx context.Context, t *trial, s *subprocess.Session, _ sdk.Component) finding {
	const do = "answer Describe with the output of the argument describe"
	d, err := s.Client.Describe(ctx)
	if err != nil {
		return fail(do, "%s", subprocess.Shorten(err.Error()))
	}
	printed, served := canonicalLines(t.description), canonicalLines(describe.Complete(d))
	for i := range min(len(printed), len(served)) { // neither list of lines is a prefix of the other
		if printed[i] != served[i] {
			return fail(do, "describe prints %s, Describe answers %s", subprocess.Shorten(printed[i]), subprocess.Shorten(served[i]))
		}
	}
	return pass("both are the same")
}

// canonicalLines returns the JSON form of a description: sorted members, one per line, without commas between them.
func canonicalLines(d sdk.Description) []string {
	text, err := json.Marshal(d)
	var plain any
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err == nil {
		text, err = json.MarshalIndent(plain, "", "")
	}
	if err != nil {
		return []string{err.Error()}
	}
	return strings.Split(strings.ReplaceAll(string(text), ",\n", "\n"), "\n")
}

func checkSchema(_ context.Context, _ *trial, _ *subprocess.Session, c sdk.Component) finding {
	if len(c.ConfigSchema) == 0 {
		return skip("a config_schema, if it has settings", "it declares no settings")
	}
	var declared any
	if err := json.Unmarshal(c.ConfigSchema, &declared); err != nil {
		return fail("make it JSON", "config_schema: %s", subprocess.Shorten(err.Error()))
	}
	root, isObject := declared.(map[string]any)
	if !isObject {
		return fail("write a schema of an object: {\"type\": \"object\", \"properties\": {…}}", "config_schema is %v, which has no settings", declared)
	}
	if draft, ok := root["$schema"].(string); ok && strings.TrimSuffix(draft, "#") != draft2020 {
		return fail("write the schema in draft 2020-12", "its $schema is %q, want %q", draft, draft2020)
	}
	if err := schema.New(c.ConfigSchema).Check(); err != nil {
		return fail("see https://json-schema.org/draft/2020-12 for the keyword's form", "config_schema: %s", subprocess.Shorten(err.Error()))
	}
	if kind, ok := root["type"]; ok && kind != "object" && !allowsObject(kind) {
		return fail("make the settings an object: \"type\": \"object\"", "its type is %v", kind)
	}
	properties, _ := root["properties"].(map[string]any)
	return pass("%d settings", len(properties))
}

// allowsObject reports whether a list of types contains object.
func allowsObject(kind any) bool {
	kinds, _ := kind.([]any)
	return slices.Contains(kinds, any("object"))
}

const draft2020 = "https://json-schema.org/draft/2020-12/schema"
