package catalog

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// lockVersion is the version of plugins.lock that this program writes and reads.
const lockVersion = 1

// Lock holds the required SHA-256 of plugins in lower-case hex, by the name of the binary and then by platform
// ("linux/amd64"). The zero value locks nothing. Concurrent changes are not safe.
type Lock struct {
	Version int                          `json:"version"`
	Plugins map[string]map[string]string `json:"plugins"`
	// Path is the file of the lock, for messages.
	Path string `json:"-"`
}

// Digest returns the required digest of the plugin on the platform; ok is false if there is none.
func (l Lock) Digest(plugin, platform string) (sha256 string, ok bool) {
	sha256, ok = l.Plugins[plugin][platform]
	return sha256, ok
}

// LockState is the result of comparing a plugin with the locks.
type LockState string

// The values of [LockStatus.Locked].
const (
	LockedNo       LockState = "no"
	LockedYes      LockState = "yes"
	LockedMismatch LockState = "mismatch"
)

// LockStatus is the result of comparing a plugin's binary with the locks.
type LockStatus struct {
	// Locked is [LockedNo] if no digest is locked for the plugin on this platform, [LockedYes] if the plugin has the
	// locked digest, and [LockedMismatch] otherwise.
	Locked LockState `json:"locked"`
	// Lock is the file with the deciding entry, SHA256 the digest in it; both "" if nothing is locked.
	Lock   string `json:"lock,omitempty"`
	SHA256 string `json:"locked_sha256,omitempty"`
}

// Set locks the plugin on the platform to the digest, or unlocks it for "". The lock must come from [ReadLock].
func (l Lock) Set(plugin, platform, sha256 string) {
	digests := l.Plugins[plugin]
	if digests == nil {
		digests = map[string]string{}
	}
	digests[platform] = sha256
	l.Plugins[plugin] = digests
	if sha256 == "" {
		delete(digests, platform)
	}
	if len(digests) == 0 {
		delete(l.Plugins, plugin)
	}
}

// parseLock reads plugins.lock. Unknown members are ignored. Any other version is refused, because an unreadable lock
// must not count as an empty lock.
func parseLock(b []byte) (l Lock, err error) {
	if err := json.Unmarshal(b, &l); err != nil {
		return Lock{}, err
	}
	if l.Version != lockVersion {
		return Lock{}, fmt.Errorf("version %d is not supported, this program reads version %d", l.Version, lockVersion)
	}
	hex := regexp.MustCompile(`^[0-9a-f]{64}$`)
	for plugin, digests := range l.Plugins {
		for platform, sum := range digests {
			if !hex.MatchString(sum) {
				return Lock{}, fmt.Errorf("%s, %s: %q is not a sha-256 in lower-case hex", plugin, platform, sum)
			}
		}
	}
	return l, nil
}
