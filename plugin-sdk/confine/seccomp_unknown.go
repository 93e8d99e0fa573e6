//go:build linux && !amd64 && !arm64

package confine

// There is no filter for this architecture, so that nothing is confined on it.
const (
	auditArch  = 0
	foreignBit = 0
)
