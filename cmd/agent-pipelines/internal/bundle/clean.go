package bundle

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

const (
	looked  = 8 << 10 // first bytes of a file; a NUL among them makes it binary
	maxJSON = 8 << 20 // size in bytes from which a document is not parsed as JSON; lines have no limit
	piece   = 64 << 10
)

// clean copies a file without its secrets. A binary file is copied unchanged.
func clean(to io.Writer, from io.Reader, extension string, secrets *redact.Redactor) (binary bool, err error) {
	in := bufio.NewReaderSize(from, piece)
	head, err := in.Peek(looked)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if bytes.IndexByte(head, 0) >= 0 {
		_, err := io.Copy(to, in)
		return true, err
	}
	switch extension {
	case ".jsonl":
		return false, lines(to, in, secrets)
	case ".json":
		doc, err := io.ReadAll(io.LimitReader(in, maxJSON))
		if err != nil {
			return false, err
		}
		if len(doc) < maxJSON {
			_, err := to.Write(secrets.JSON(doc))
			return false, err
		}
		return false, text(to, io.MultiReader(bytes.NewReader(doc), in), secrets)
	default:
		return false, text(to, in, secrets)
	}
}

// lines copies lines of JSON, also a last line without a newline. It keeps one line in memory.
func lines(to io.Writer, in *bufio.Reader, secrets *redact.Redactor) error {
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			body, ended := bytes.CutSuffix(line, []byte("\n"))
			out := secrets.JSON(body)
			if ended {
				out = append(out[:len(out):len(out)], '\n')
			}
			if _, err := to.Write(out); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// text copies a text in pieces.
func text(to io.Writer, in io.Reader, secrets *redact.Redactor) error {
	stream := secrets.Stream()
	buf := make([]byte, piece)
	for {
		n, err := in.Read(buf)
		if _, werr := io.WriteString(to, stream.Add(string(buf[:n]))); werr != nil {
			return werr
		}
		if errors.Is(err, io.EOF) {
			_, err := io.WriteString(to, stream.End())
			return err
		}
		if err != nil {
			return err
		}
	}
}
