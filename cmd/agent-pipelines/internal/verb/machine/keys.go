package machine

import (
	"context"
	"fmt"
	"io"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/plugins"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Keys is the verb `keys` with its subcommands show, trust, list and remove.
type Keys struct {
	Show   keysShowVerb   `cmd:"" default:"1" help:"Print your public key; the first call makes it."`
	Trust  keysTrustVerb  `cmd:"" help:"Accept messages signed with another key."`
	List   keysListVerb   `cmd:"" help:"List your key and the trusted keys."`
	Remove keysRemoveVerb `cmd:"" help:"Stop trusting a key."`
}

// keysShowVerb is the verb `keys show`.
type keysShowVerb struct{}

// Run implements [cli.Verb].
func (*keysShowVerb) Run(_ context.Context, a *cli.App) error {
	own, err := engine.UserKeys().PublicKey()
	if err != nil {
		return err
	}
	return a.Print(document.Keys{User: &own}, func(to io.Writer) { fmt.Fprintln(to, own.Public) })
}

// keysTrustVerb is the verb `keys trust <public-key>`.
type keysTrustVerb struct {
	Key  string `arg:"" name:"public-key" help:"The public key, as keys show prints it."`
	Name string `placeholder:"NAME" help:"A name for the key; it follows the author of its messages (default: from the key)."`
}

// Run implements [cli.Verb].
func (v *keysTrustVerb) Run(_ context.Context, a *cli.App) error {
	key, err := engine.NewKey(v.Key, v.Name)
	if err != nil {
		return err
	}
	if err := engine.UserKeys().Trust(key); err != nil {
		return err
	}
	return a.Print(document.Keys{Added: &key}, func(to io.Writer) {
		fmt.Fprintf(to, "Messages and ends of journals signed with the key %s count in all your sessions from now on.\n", key.Name)
	})
}

// keysListVerb is the verb `keys list`.
type keysListVerb struct{}

// Run implements [cli.Verb].
func (*keysListVerb) Run(_ context.Context, a *cli.App) error {
	own, err := engine.UserKeys().PublicKey()
	if err != nil {
		return err
	}
	trusted, err := engine.UserKeys().Trusted()
	if err != nil {
		return err
	}
	return a.Print(document.Keys{User: &own, Trusted: plugins.NonNil(trusted)}, func(to io.Writer) {
		table := cli.NewTable(to, "NAME\tPUBLIC KEY")
		fmt.Fprintf(table, "(yours)\t%s\n", own.Public)
		for _, key := range trusted {
			fmt.Fprintf(table, "%s\t%s\n", key.Name, key.Public)
		}
		table.End()
	})
}

// keysRemoveVerb is the verb `keys remove <key>`.
type keysRemoveVerb struct {
	Key string `arg:"" help:"The name of a trusted key, or the key itself."`
}

// Run implements [cli.Verb].
func (v *keysRemoveVerb) Run(_ context.Context, a *cli.App) error {
	removed, err := engine.UserKeys().Remove(v.Key)
	if err != nil {
		return err
	}
	return a.Print(document.Keys{Removed: &removed}, func(to io.Writer) {
		fmt.Fprintf(to, "Messages signed with the key %s no longer count.\n", removed.Name)
	})
}
