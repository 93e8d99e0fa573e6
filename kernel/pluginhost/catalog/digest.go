package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// digests caches the SHA-256 of files by their identity, so that an unchanged binary is read once. It is safe
// for concurrent use.
type digests struct {
	mu    sync.Mutex
	known map[identity]*digest
}

// digest is the digest of one file; concurrent callers wait for one computation.
type digest struct {
	mu  sync.Mutex
	sum string // "" until it is computed
}

// sum returns the digest of the open file, read from its beginning without moving its offset.
func (d *digests) sum(f *os.File, info fs.FileInfo) (string, error) {
	id, identified := identify(info)
	if !identified {
		return fileDigest(f, info.Size())
	}
	known := d.entry(id)
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.sum != "" {
		return known.sum, nil
	}
	sum, err := fileDigest(f, info.Size())
	known.sum = sum
	return sum, err
}

func (d *digests) entry(id identity) *digest {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.known[id]
	if !ok {
		known = &digest{}
		d.known[id] = known
	}
	return known
}

// fileDigest returns the SHA-256 of the first size bytes of an open file in lower-case hex. It does not move
// the offset.
func fileDigest(f *os.File, size int64) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, size)); err != nil {
		return "", fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
