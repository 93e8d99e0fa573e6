package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// small is what each goroutine of the floor keeps, about as large as the state of a session.
type small [4 << 10]byte

// files lets goroutines hold an open file and a small state each until ctx ends, and calls hold when all do.
func files(ctx context.Context, dir string, n int, hold func()) error {
	var waiting sync.WaitGroup
	defer waiting.Wait()
	arrived := gather(n, &waiting, hold)
	return all(ctx, n, func(ctx context.Context, i int) error {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%04d.jsonl", i)))
		if err != nil {
			return err
		}
		s := &small{}
		for j := range s {
			s[j] = byte(i + j)
		}
		_, err = f.Write(s[:])
		arrived()
		<-ctx.Done()
		runtime.KeepAlive(s)
		return errors.Join(err, f.Close())
	})
}
