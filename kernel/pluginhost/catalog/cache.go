package catalog

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/trust"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// cacheVersion changes when a description is read differently.
const cacheVersion = 2

// Cache remembers descriptions in a file. What cannot be read is not remembered, what cannot be
// written is described again next time; neither is an error. It is safe for concurrent use, by several
// programs too: the last one to write wins.
type Cache struct {
	path string

	mu          sync.Mutex
	loaded      bool
	entries     map[string]cachedDescription // by the command: one program may be several plugins by its arguments
	noResponses map[string]noResponse        // likewise
}

type cachedDescription struct {
	binaryID
	Description sdk.Description `json:"description"`
}

// noResponse is a plugin that did not answer in time. Without it, every command would wait for it anew.
type noResponse struct {
	binaryID
	Until  time.Time `json:"until"`
	Fault  string    `json:"fault"`
	Detail string    `json:"detail,omitempty"`
}

// noResponseTime is how long such a plugin, unless its file changes, is not asked again.
const noResponseTime = 30 * time.Second

// binaryID is the binary of which something is remembered.
type binaryID struct {
	// Path is the program's, where the key is more than that.
	Path    string `json:"path,omitempty"`
	Size    int64  `json:"size"`
	ModTime int64  `json:"mtime_ns"`
	SHA256  string `json:"sha256"`
}

func identifyBinary(b *trust.Binary) binaryID {
	m := binaryID{Size: b.Size, ModTime: b.ModTime, SHA256: b.SHA256}
	if len(b.Args) > 0 {
		m.Path = b.Path
	}
	return m
}

type cacheFile struct {
	Version int                          `json:"version"`
	Plugins map[string]cachedDescription `json:"plugins"`
	Silent  map[string]noResponse        `json:"silent,omitempty"`
}

// NewCache remembers in the file at path; "" remembers in memory alone.
func NewCache(path string) *Cache { return &Cache{path: path} }

// Get is the description of the very same binary, if it is remembered.
func (c *Cache) Get(b *trust.Binary) (sdk.Description, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	e, ok := c.entries[b.Command()]
	if !ok || e.binaryID != identifyBinary(b) {
		return sdk.Description{}, false
	}
	return e.Description, true
}

// Put remembers a description, in the file as well if that can be written.
func (c *Cache) Put(b *trust.Binary, d sdk.Description) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	c.entries[b.Command()] = cachedDescription{identifyBinary(b), d}
	delete(c.noResponses, b.Command())
	c.save()
}

// NoResponse is why the very same binary could not be described a moment ago, nil if it may be asked.
func (c *Cache) NoResponse(b *trust.Binary) *failure.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	e, ok := c.noResponses[b.Command()]
	if !ok || e.binaryID != identifyBinary(b) || !time.Now().Before(e.Until) || time.Until(e.Until) > noResponseTime {
		return nil
	}
	return failure.New(failure.ProviderTimeout, "%s", e.Fault).WithDetail(e.Detail).
		WithHint("it is not asked again before %s, unless its file changes; `%s describe` starts it by hand", e.Until.Format(time.TimeOnly), b.Command())
}

// PutNoResponse remembers for a short time that a plugin did not answer.
func (c *Cache) PutNoResponse(b *trust.Binary, f *failure.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	c.noResponses[b.Command()] = noResponse{binaryID: identifyBinary(b), Until: time.Now().Add(noResponseTime), Fault: f.Message, Detail: f.Detail}
	c.save()
}

// load keeps only what is a valid description: the file may be anything.
func (c *Cache) load() {
	if c.loaded {
		return
	}
	c.loaded = true
	c.entries, c.noResponses = map[string]cachedDescription{}, map[string]noResponse{}
	if c.path == "" {
		return
	}
	b, err := os.ReadFile(c.path)
	if err != nil {
		return
	}
	f := parseCache(b)
	maps.Copy(c.entries, f.Plugins)
	maps.Copy(c.noResponses, f.Silent)
}

func parseCache(b []byte) cacheFile {
	var f cacheFile
	if json.Unmarshal(b, &f) != nil || f.Version != cacheVersion {
		return cacheFile{}
	}
	for command, e := range f.Plugins {
		if client.CheckDescription(e.Description) != nil {
			delete(f.Plugins, command)
		}
	}
	return f
}

func (m binaryID) exists(command string) bool {
	_, err := os.Lstat(cmp.Or(m.Path, command))
	return err == nil
}

// save writes what still exists.
func (c *Cache) save() {
	if c.path == "" {
		return
	}
	f := cacheFile{Version: cacheVersion, Plugins: map[string]cachedDescription{}, Silent: map[string]noResponse{}}
	for command, e := range c.entries {
		if e.exists(command) {
			f.Plugins[command] = e
		}
	}
	for command, e := range c.noResponses {
		if e.exists(command) && time.Now().Before(e.Until) {
			f.Silent[command] = e
		}
	}
	b, err := json.MarshalIndent(f, "", " ")
	if err != nil || os.MkdirAll(filepath.Dir(c.path), 0o700) != nil {
		return
	}
	_ = trust.WriteFile(c.path, append(b, '\n')) // described again next time
}
