package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"sync"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// cacheVersion is increased when the reading of descriptions changes.
const cacheVersion = 2

// Cache keeps descriptions and digests of plugins in a file. Read and write errors are ignored; the plugin is then
// described and read again. It is safe for concurrent use, also by several programs: the last writer wins.
type Cache struct {
	path string

	mu          sync.Mutex
	loaded      bool
	entries     map[string]cachedDescription // by the command line: with other arguments a program is another plugin
	noResponses map[string]noResponse        // by the command line, too
	digests     map[string]cachedDigest      // by the path
}

// cachedDigest is the SHA-256 of a file, valid as long as the file has this identity.
type cachedDigest struct {
	Identity identity `json:"identity"`
	SHA256   string   `json:"sha256"` // in lower-case hex
	fresh    bool     // computed by this process
}

type cachedDescription struct {
	binaryID
	Description sdk.Description `json:"description"`
}

// noResponse records a plugin that did not answer in time, so that the next commands do not wait for that plugin.
type noResponse struct {
	binaryID
	Until  time.Time `json:"until"`
	Fault  string    `json:"fault"`
	Detail string    `json:"detail,omitempty"`
}

// noResponseTime is the time in which a plugin that did not answer is not asked again, unless its file changes.
const noResponseTime = 30 * time.Second

// binaryID identifies a described binary.
type binaryID struct {
	// Path is the program's path if the key is a command line with arguments.
	Path    string `json:"path,omitempty"`
	Size    int64  `json:"size"`
	ModTime int64  `json:"mtime_ns"`
	SHA256  string `json:"sha256"`
}

func identifyBinary(b *Binary) binaryID {
	m := binaryID{Size: b.Size, ModTime: b.ModTime, SHA256: b.SHA256}
	if len(b.Args) > 0 {
		m.Path = b.Path
	}
	return m
}

type cacheFile struct {
	Version     int                          `json:"version"`
	Plugins     map[string]cachedDescription `json:"plugins"`
	NoResponses map[string]noResponse        `json:"silent,omitempty"`
	Digests     map[string]cachedDigest      `json:"digests,omitempty"`
}

// NewCache returns a cache in the file at path; "" keeps it in memory only.
func NewCache(path string) *Cache { return &Cache{path: path} }

// Get returns the cached description of the same binary.
func (c *Cache) Get(b *Binary) (sdk.Description, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	e, ok := c.entries[b.Command()]
	if !ok || e.binaryID != identifyBinary(b) {
		return sdk.Description{}, false
	}
	return e.Description, true
}

// Put caches a description, in the file if that can be written.
func (c *Cache) Put(b *Binary, d sdk.Description) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	c.entries[b.Command()] = cachedDescription{identifyBinary(b), d}
	delete(c.noResponses, b.Command())
	c.save()
}

// NoResponse returns the recent failure to describe the same binary, nil if the plugin may be asked.
func (c *Cache) NoResponse(b *Binary) *failure.Error {
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

// PutNoResponse records for a short time that a plugin did not answer.
func (c *Cache) PutNoResponse(b *Binary, f *failure.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	c.noResponses[b.Command()] = noResponse{binaryID: identifyBinary(b), Until: time.Now().Add(noResponseTime), Fault: f.Message, Detail: f.Detail}
	c.save()
}

// digest returns the SHA-256 of an open file in lower-case hex, without moving its offset. An unchanged file is read
// once by each process if fresh is set, otherwise once by all processes.
func (c *Cache) digest(path string, f *os.File, info fs.FileInfo, fresh bool) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	id := identify(info)
	known := c.digests[path]
	if id != "" && known.Identity == id && (known.fresh || !fresh) {
		return known.SHA256, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, info.Size())); err != nil {
		return "", fmt.Errorf("read %s: %w", f.Name(), err)
	}
	sum := hex.EncodeToString(h.Sum(nil))
	if id == "" {
		return sum, nil
	}
	c.digests[path] = cachedDigest{id, sum, true}
	if known.Identity != id || known.SHA256 != sum {
		c.save()
	}
	return sum, nil
}

// load reads the file and keeps only valid descriptions.
func (c *Cache) load() {
	if c.loaded {
		return
	}
	c.loaded = true
	c.entries, c.noResponses, c.digests = map[string]cachedDescription{}, map[string]noResponse{}, map[string]cachedDigest{}
	if c.path == "" {
		return
	}
	b, err := os.ReadFile(c.path)
	if err != nil {
		return
	}
	f := parseCache(b)
	maps.Copy(c.entries, f.Plugins)
	maps.Copy(c.noResponses, f.NoResponses)
	maps.Copy(c.digests, f.Digests)
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
	maps.DeleteFunc(f.Digests, func(_ string, e cachedDigest) bool { return len(e.SHA256) != hex.EncodedLen(sha256.Size) })
	return f
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// save writes the entries whose files still exist.
func (c *Cache) save() {
	if c.path == "" {
		return
	}
	f := cacheFile{Version: cacheVersion, Plugins: map[string]cachedDescription{}, NoResponses: map[string]noResponse{}, Digests: map[string]cachedDigest{}}
	for command, e := range c.entries {
		if exists(cmp.Or(e.Path, command)) {
			f.Plugins[command] = e
		}
	}
	for command, e := range c.noResponses {
		if exists(cmp.Or(e.Path, command)) && time.Now().Before(e.Until) {
			f.NoResponses[command] = e
		}
	}
	for path, e := range c.digests {
		if exists(path) {
			f.Digests[path] = e
		}
	}
	_ = writeJSON(c.path, 0o600, f) // described again next time
}
