package install

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/discovery"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/trust"
)

// systems and machines are the words by which a directory of an archive names a platform.
var (
	systems  = []string{"linux", "darwin", "windows", "freebsd", "openbsd", "netbsd"}
	machines = []string{"amd64", "arm64", "386", "arm", "riscv64", "ppc64le", "s390x"}
	synonyms = strings.NewReplacer("x86_64", "amd64", "x86-64", "amd64", "aarch64", "arm64", "macos", "darwin")
)

// fit says how a member's directories suit a platform.
type fit int

const (
	foreign  fit = iota // they name another platform
	unnamed             // they name none
	suitable            // they name it
)

// choose is the path of the plugin for a platform ("linux/amd64"): the file called agent-plugin-<name> whose
// directories name the platform, or else the one whose directories name none.
func choose(paths []string, platform string) (string, error) {
	byFit := map[fit][]string{}
	for _, p := range paths {
		if _, ok := discovery.PluginName(path.Base(p)); ok {
			f := fitOf(path.Dir(p), platform)
			byFit[f] = append(byFit[f], p)
		}
	}
	for _, f := range []fit{suitable, unnamed} {
		if found := byFit[f]; len(found) == 1 {
			return found[0], nil
		} else if len(found) > 1 {
			slices.Sort(found)
			return "", fmt.Errorf("it holds several plugins for %s: %s; unpack it and install each by itself", platform, strings.Join(found, ", "))
		}
	}
	if others := byFit[foreign]; len(others) > 0 {
		slices.Sort(others)
		return "", fmt.Errorf("it holds nothing for %s, only %s", platform, strings.Join(others, ", "))
	}
	return "", errors.New("it holds no file called " + trust.Prefix + "<name>")
}

// fitOf reads the words of a directory's path, such as "foo_1.0.0_linux_amd64".
func fitOf(dir, platform string) fit {
	system, machine, _ := strings.Cut(platform, "/")
	words := strings.FieldsFunc(synonyms.Replace(strings.ToLower(dir)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	named := unnamed
	for _, w := range words {
		isSystem, isMachine := slices.Contains(systems, w), slices.Contains(machines, w)
		if isSystem && w != system || isMachine && w != machine {
			return foreign
		}
		if isSystem || isMachine {
			named = suitable
		}
	}
	return named
}
