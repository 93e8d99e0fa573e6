package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
)

// lockVersion is the version of plugins.lock that this program writes and reads.
const lockVersion = 1

// Lock holds the required digests of plugins: name of the binary, then platform ("linux/amd64"), then SHA-256
// in lower-case hex. The zero value locks nothing. Concurrent changes are not safe.
type Lock struct {
	Plugins map[string]map[string]string
	// Path is the file of the lock, for messages.
	Path string
}

type lockFile struct {
	Version int                          `json:"version"`
	Plugins map[string]map[string]string `json:"plugins"`
}

// Digest returns the required digest of the plugin on the platform; ok is false if there is none.
func (l Lock) Digest(plugin, platform string) (sha256 string, ok bool) {
	sha256, ok = l.Plugins[plugin][platform]
	return sha256, ok
}

// LockState is the result of comparing a plugin with the locks.
type LockState string

// The values of [Standing].Locked.
const (
	LockedNo       LockState = "no"
	LockedYes      LockState = "yes"
	LockedMismatch LockState = "mismatch"
)

// Standing is the result of comparing a plugin's binary with the locks.
type Standing struct {
	// Locked is no if nothing is locked for the plugin on this platform, else whether its digest is the locked
	// one.
	Locked LockState `json:"locked"`
	// Lock is the file with the deciding entry, SHA256 the digest in it; both "" if nothing is locked.
	Lock   string `json:"lock,omitempty"`
	SHA256 string `json:"locked_sha256,omitempty"`
}

// With returns a copy in which the plugin is locked to the digest.
func (l Lock) With(plugin, platform, sha256 string) Lock {
	c := l.clone()
	if c.Plugins[plugin] == nil {
		c.Plugins[plugin] = map[string]string{}
	}
	c.Plugins[plugin][platform] = sha256
	return c
}

// Without returns a copy in which nothing is locked for the plugin on the platform.
func (l Lock) Without(plugin, platform string) Lock {
	c := l.clone()
	delete(c.Plugins[plugin], platform)
	if len(c.Plugins[plugin]) == 0 {
		delete(c.Plugins, plugin)
	}
	return c
}

func (l Lock) clone() Lock {
	c := Lock{Path: l.Path, Plugins: make(map[string]map[string]string, len(l.Plugins))}
	for plugin, digests := range l.Plugins {
		c.Plugins[plugin] = maps.Clone(digests)
	}
	return c
}

// parseLock reads plugins.lock. Unknown members are ignored. A newer version is refused, because an unreadable
// lock must not count as an empty one.
func parseLock(b []byte) (Lock, error) {
	var f lockFile
	if err := json.Unmarshal(b, &f); err != nil {
		return Lock{}, err
	}
	if f.Version != lockVersion {
		return Lock{}, fmt.Errorf("version %d is not supported, this program reads version %d", f.Version, lockVersion)
	}
	hex := regexp.MustCompile(`^[0-9a-f]{64}$`)
	for plugin, digests := range f.Plugins {
		for platform, sum := range digests {
			if !hex.MatchString(sum) {
				return Lock{}, fmt.Errorf("%s, %s: %q is no sha-256 in lower-case hex", plugin, platform, sum)
			}
		}
	}
	return Lock{Plugins: f.Plugins}, nil
}

// Marshal returns the content of plugins.lock.
func (l Lock) Marshal() ([]byte, error) {
	plugins := l.Plugins
	if plugins == nil {
		plugins = map[string]map[string]string{}
	}
	b, err := json.MarshalIndent(lockFile{Version: lockVersion, Plugins: plugins}, "", "  ")
	return append(b, '\n'), err
}
