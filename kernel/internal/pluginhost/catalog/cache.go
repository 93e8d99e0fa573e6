package catalog

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost/trust"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
)

// cacheVersion changes when a description is read differently.
const cacheVersion = 2

// Cache remembers descriptions in a file. What cannot be read is not remembered, what cannot be
// written is described again next time; neither is an error. It is safe for concurrent use, by several
// programs too: the last one to write wins.
type Cache struct {
	path string

	mu      sync.Mutex
	loaded  bool
	entries map[string]cached // by the command: one program may be several plugins by its arguments
}

type cached struct {
	// Path is the program's, where the key is more than that.
	Path        string          `json:"path,omitempty"`
	Size        int64           `json:"size"`
	ModTime     int64           `json:"mtime_ns"`
	SHA256      string          `json:"sha256"`
	Description sdk.Description `json:"description"`
}

type cacheFile struct {
	Version int               `json:"version"`
	Plugins map[string]cached `json:"plugins"`
}

// NewCache remembers in the file at path; "" remembers in memory alone.
func NewCache(path string) *Cache { return &Cache{path: path} }

// Get is the description of the very same binary, if it is remembered.
func (c *Cache) Get(b *trust.Binary) (sdk.Description, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	e, ok := c.entries[b.Command()]
	if !ok || e.Size != b.Size || e.ModTime != b.ModTime || e.SHA256 != b.SHA256 {
		return sdk.Description{}, false
	}
	return e.Description, true
}

// Put remembers a description, in the file as well if that can be written.
func (c *Cache) Put(b *trust.Binary, d sdk.Description) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	e := cached{Size: b.Size, ModTime: b.ModTime, SHA256: b.SHA256, Description: d}
	if len(b.Args) > 0 {
		e.Path = b.Path
	}
	c.entries[b.Command()] = e
	c.save()
}

// load keeps only what is a valid description: the file may be anything.
func (c *Cache) load() {
	if c.loaded {
		return
	}
	c.loaded = true
	c.entries = map[string]cached{}
	if c.path == "" {
		return
	}
	b, err := os.ReadFile(c.path)
	if err != nil {
		return
	}
	for command, e := range parseCache(b) {
		c.entries[command] = e
	}
}

func parseCache(b []byte) map[string]cached {
	var f cacheFile
	if json.Unmarshal(b, &f) != nil || f.Version != cacheVersion {
		return nil
	}
	for command, e := range f.Plugins {
		if client.CheckDescription(e.Description) != nil {
			delete(f.Plugins, command)
		}
	}
	return f.Plugins
}

// save writes what still exists.
func (c *Cache) save() {
	if c.path == "" {
		return
	}
	f := cacheFile{Version: cacheVersion, Plugins: map[string]cached{}}
	for command, e := range c.entries {
		if _, err := os.Lstat(cmp.Or(e.Path, command)); err == nil {
			f.Plugins[command] = e
		}
	}
	b, err := json.MarshalIndent(f, "", " ")
	if err != nil || os.MkdirAll(filepath.Dir(c.path), 0o700) != nil {
		return
	}
	_ = trust.WriteFile(c.path, append(b, '\n')) // described again next time
}
