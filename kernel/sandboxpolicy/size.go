package sandboxpolicy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// MinSize is the minimum of [ParseSize] in bytes, because no program runs with less memory.
const MinSize = 16 << 20

// ParseSize returns the memory size of a program in bytes, read as by [Bytes]. A size below [MinSize] is an error.
func ParseSize(text string) (int64, error) {
	n, err := Bytes(text)
	switch {
	case err != nil:
		return 0, err
	case n < MinSize:
		return 0, fmt.Errorf("%q is less than 16M, and no program runs with less", text)
	default:
		return n, nil
	}
}

// Bytes reads a number of bytes with an optional unit, as "512M" or "2G". Units are powers of 1024; fractions of a byte
// are dropped. More than 1024T is an error.
func Bytes(text string) (int64, error) {
	digits := strings.TrimRight(strings.TrimSpace(text), "KMGTIBkmgtib")
	unit, ok := units()[strings.ToUpper(strings.TrimSpace(text)[len(digits):])]
	n, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
		return 0, fmt.Errorf("%q is not a size", text)
	}
	if n*unit > 1<<50 {
		return 0, fmt.Errorf("%q is more than any machine has", text)
	}
	return int64(n * unit), nil
}

func units() map[string]float64 {
	all := map[string]float64{"": 1, "B": 1}
	for i, letter := range []string{"K", "M", "G", "T"} {
		size := float64(int64(1) << (10 * (i + 1)))
		all[letter], all[letter+"B"], all[letter+"IB"] = size, size, size
	}
	return all
}
