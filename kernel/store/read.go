package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// ErrTooLarge says that a file exceeds the reader's limit.
var ErrTooLarge = errors.New("file is too large")

// errNotRegular says that a name is a directory, a pipe or a device.
var errNotRegular = errors.New("not a regular file")

// Read returns a file of at most limit bytes. The error wraps [fs.ErrNotExist] for a missing file and [ErrTooLarge]
// for a longer one. Pipes and devices, which an agent could put in place of its result, are refused without waiting.
func (s *Store) Read(name string, limit int64) ([]byte, error) {
	f, err := s.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, s.wrapError("read "+name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %s: %w: over %d bytes", s.Abs(name), ErrTooLarge, limit)
	}
	return data, nil
}

// ReadRef returns the file that a reference names. A missing file, or one with another size or digest, is an error of kind
// tampered.
func (s *Store) ReadRef(ref event.Ref) ([]byte, error) {
	data, err := s.Read(ref.Path, ref.Size)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrTooLarge):
		return nil, changedError(s.Abs(ref.Path), err)
	case err != nil:
		return nil, err
	}
	sum := sha256.Sum256(data)
	if int64(len(data)) != ref.Size {
		return nil, changedError(s.Abs(ref.Path), fmt.Errorf("%d bytes instead of %d", len(data), ref.Size))
	}
	if ref.SHA256 != "" && hex.EncodeToString(sum[:]) != ref.SHA256 {
		return nil, changedError(s.Abs(ref.Path), errors.New("another digest"))
	}
	return data, nil
}

func changedError(file string, why error) error {
	return failure.New(failure.Tampered, "%s differs from the recorded file: %w", file, why).
		WithHint("find out which program changed it and restore the file, or start the session again with %s", failure.Option("force"))
}

// Verify compares the file that a reference names with the reference, and returns its absolute path for other programs.
// The errors are those of [Store.ReadRef].
func (s *Store) Verify(ref event.Ref) (string, error) {
	found, err := s.Ref(ref.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", changedError(s.Abs(ref.Path), err)
	case err != nil:
		return "", err
	case found.Size != ref.Size || ref.SHA256 != "" && found.SHA256 != ref.SHA256:
		return "", changedError(s.Abs(ref.Path), errors.New("another digest"))
	}
	return s.Abs(ref.Path), nil
}

// Ref reads a file that another process wrote and returns its reference.
func (s *Store) Ref(name string) (event.Ref, error) {
	f, err := s.OpenRegular(name)
	if err != nil {
		return event.Ref{}, err
	}
	defer f.Close()
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err != nil {
		return event.Ref{}, s.wrapError("read "+name, err)
	}
	return event.Ref{Path: name, SHA256: hex.EncodeToString(h.Sum(nil)), Size: size}, nil
}

// OpenRegular opens a regular file for reading and refuses anything else. The caller closes it. The open does
// not block, because a pipe would wait for a writer.
func (s *Store) OpenRegular(name string) (*os.File, error) {
	f, err := s.open(name, os.O_RDONLY|syscall.O_NONBLOCK)
	if err != nil {
		return nil, s.wrapError("read "+name, err)
	}
	if err := checkRegular(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("read %s: %w", s.Abs(name), err)
	}
	return f, nil
}

func checkRegular(f *os.File) error {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	return err
}
