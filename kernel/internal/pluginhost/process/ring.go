package process

import "sync"

// ring keeps the last bytes written to it. It is safe for concurrent use.
type ring struct {
	mu   sync.Mutex
	size int
	buf  []byte
}

// Write never fails.
func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(p)
	if n > r.size {
		p = p[n-r.size:]
	}
	if drop := len(r.buf) + len(p) - r.size; drop > 0 {
		r.buf = append(r.buf[:0], r.buf[drop:]...)
	}
	r.buf = append(r.buf, p...)
	return n, nil
}

func (r *ring) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.buf)
}
