package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// digests remembers the SHA-256 of files by their identity, so that an unchanged binary is read
// once. It is safe for concurrent use.
type digests struct {
	mu    sync.Mutex
	known map[identity]string
}

// of reads the open file from its beginning, wherever its offset is, and leaves the offset alone.
func (d *digests) of(f *os.File, info fs.FileInfo) (string, error) {
	id, identified := identify(info)
	if identified {
		d.mu.Lock()
		sum, ok := d.known[id]
		d.mu.Unlock()
		if ok {
			return sum, nil
		}
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, info.Size())); err != nil {
		return "", fmt.Errorf("read %s: %w", f.Name(), err)
	}
	sum := hex.EncodeToString(h.Sum(nil))
	if identified {
		d.mu.Lock()
		d.known[id] = sum
		d.mu.Unlock()
	}
	return sum, nil
}
