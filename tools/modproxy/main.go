package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
)

func main() {
	o := options{}
	flag.StringVar(&o.root, "workspace", ".", "the directory of go.work")
	flag.StringVar(&o.version, "version", "", "the `version` of all modules, such as v0.1.0")
	flag.StringVar(&o.out, "out", "", "the `directory` of the proxy; created if missing")
	flag.StringVar(&o.only, "module", "", "publish only the module in this `directory`, with its dependencies")
	flag.BoolVar(&o.write, "write", false, "rewrite the go.mod files of the workspace instead")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "modproxy:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	root, version, out, only string
	write                    bool
}

func run(o options) error {
	if o.write == (o.out != "") {
		return errors.New("specify either -out or -write")
	}
	if !strings.HasPrefix(o.version, "v") || module.CanonicalVersion(o.version) != o.version {
		return fmt.Errorf("invalid -version %q: want one such as v0.1.0", o.version)
	}
	w, err := load(o.root)
	if err != nil {
		return err
	}
	modules := w.modules
	if o.only != "" {
		if modules, err = w.dependencies(filepath.ToSlash(filepath.Clean(o.only))); err != nil {
			return err
		}
	}
	for _, m := range modules {
		goMod, err := w.releasedGoMod(m, o.version)
		if err != nil {
			return fmt.Errorf("module %s: %w", m.dir, err)
		}
		if o.write {
			err = os.WriteFile(filepath.Join(w.root, m.dir, "go.mod"), goMod, 0o644)
		} else {
			err = publish(o.out, w.root, m, o.version, goMod)
		}
		if err != nil {
			return fmt.Errorf("module %s: %w", m.dir, err)
		}
	}
	return nil
}
