package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// stub <name>=<file>...: starts a model service that replies with the files until the script ends. The user's config.yaml
// names the first file's address for the provider agent. $STUB is the service's address.
func stub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: stub <name>=<file>...")
	}
	var flags []string
	for _, arg := range args {
		name, file, found := strings.Cut(arg, "=")
		if !found {
			ts.Fatalf("stub: %q is no <name>=<file>", arg)
		}
		flags = append(flags, "-script", name+"="+ts.MkAbs(file))
	}
	cmd := exec.Command(filepath.Join(programs, "agents", "stubmodel"), flags...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	address := strings.TrimSpace(line)
	ts.Setenv("STUB", address)
	name, _, _ := strings.Cut(args[0], "=")
	ts.Check(configure(ts.Getenv("HOME"), "providers", "{agent: {config: {base_url: '"+address+"/s/"+name+"', model: fake}}}"))
}
