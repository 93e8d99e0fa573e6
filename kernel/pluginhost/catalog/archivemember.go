package catalog

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
)

// systems and machines are the platform words in the directory names of archives.
var (
	systems  = []string{"linux", "darwin", "windows", "freebsd", "openbsd", "netbsd"}
	machines = []string{"amd64", "arm64", "386", "arm", "riscv64", "ppc64le", "s390x"}
	synonyms = strings.NewReplacer("x86_64", "amd64", "x86-64", "amd64", "aarch64", "arm64", "macos", "darwin")
)

// platformFit says how a member's directories match a platform.
type platformFit int

const (
	otherPlatform platformFit = iota // they name another platform
	anyPlatform                      // they name none
	thisPlatform                     // they name it
)

// chooseMember returns the path of the plugin for a platform ("linux/amd64"): the file named
// agent-plugin-<name> whose directories name the platform, or else the one whose directories name none.
func chooseMember(paths []string, platform string) (string, error) {
	byFit := map[platformFit][]string{}
	for _, p := range paths {
		if _, ok := PluginName(path.Base(p)); ok {
			f := matchPlatform(path.Dir(p), platform)
			byFit[f] = append(byFit[f], p)
		}
	}
	for _, f := range []platformFit{thisPlatform, anyPlatform} {
		if found := byFit[f]; len(found) == 1 {
			return found[0], nil
		} else if len(found) > 1 {
			slices.Sort(found)
			return "", fmt.Errorf("it holds several plugins for %s: %s; unpack it and install each separately", platform, strings.Join(found, ", "))
		}
	}
	if others := byFit[otherPlatform]; len(others) > 0 {
		slices.Sort(others)
		return "", fmt.Errorf("it holds nothing for %s, only %s", platform, strings.Join(others, ", "))
	}
	return "", errors.New("it holds no file called " + Prefix + "<name>")
}

// matchPlatform reads the words of a directory's path, such as "foo_1.0.0_linux_amd64".
func matchPlatform(dir, platform string) platformFit {
	system, machine, _ := strings.Cut(platform, "/")
	words := strings.FieldsFunc(synonyms.Replace(strings.ToLower(dir)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	named := anyPlatform
	for _, w := range words {
		isSystem, isMachine := slices.Contains(systems, w), slices.Contains(machines, w)
		if isSystem && w != system || isMachine && w != machine {
			return otherPlatform
		}
		if isSystem || isMachine {
			named = thisPlatform
		}
	}
	return named
}
