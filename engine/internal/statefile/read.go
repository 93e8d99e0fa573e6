package statefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxFile bounds state.json, in bytes.
const maxFile = 256 << 20

// Read reads a session's state.json, ours or the Bash engine's. Members that are missing or of another type are left
// empty, and so is a scheduler's state with a member of another type. The error wraps [io/fs.ErrNotExist] if there is
// no file. For a file that ends too early or is not JSON the readable part is returned with an error of kind
// state_corrupt.
func Read(dir *store.Dir) (Document, error) {
	return readFrom(dir.Store, store.StateFile, "")
}

// ReadOwn reads state.json as [Read] does, and refuses that of another session. It leaves out a scheduler's state without
// a run id, or whose session or event number differs from those of the file.
func ReadOwn(dir *store.Dir) (Document, error) {
	d, err := Read(dir)
	if err == nil && d.Session != dir.Session() {
		err = fmt.Errorf("state.json belongs to session %q", d.Session)
	}
	if err != nil {
		return Document{}, err
	}
	if st := d.Scheduler; st != nil && (st.Session != d.Session || st.Seq != d.EventSeq || st.RunID == "") {
		d.Scheduler = nil
	}
	return d, nil
}

// ReadHead reads only the members before the history, so that it is fast even if the history is long. It fails
// as [Read] does.
func ReadHead(p *store.Project, session string) (Head, error) {
	d, err := readFrom(p.Store, path.Join(store.RunsDir, session, store.StateFile), "history")
	return d.Head, err
}

// readFrom reads a file up to a member, or all of it for "".
func readFrom(s *store.Store, name, upTo string) (Document, error) {
	f, err := s.OpenRegular(name)
	if err != nil {
		return Document{}, err
	}
	defer f.Close()
	d, err := decode(io.LimitReader(f, maxFile), upTo)
	if err != nil {
		err = failure.New(failure.StateCorrupt, "read %s: %w", s.Abs(name), err).
			WithHint("it is derived from events.jsonl and rebuilt when the session is resumed")
	}
	return d, err
}

// decode reads the members of an object up to the member upTo, or to the end of the object.
func decode(r io.Reader, upTo string) (Document, error) {
	var d Document
	err := d.readMembers(json.NewDecoder(r), upTo)
	if d.Status == "complete" {
		d.Status = string(state.Completed)
	}
	return d, err
}

func (d *Document) readMembers(dec *json.Decoder, upTo string) error {
	first, err := dec.Token()
	if err == nil && first != json.Delim('{') {
		err = errors.New("it is not a JSON object")
	}
	if err != nil {
		return err
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if key == upTo && upTo != "" {
			return nil
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return fmt.Errorf("member %q: %w", key, err)
		}
		member := fmt.Appendf(nil, "{%q:%s}", key, value)
		if err := json.Unmarshal(member, d); err != nil && key == "scheduler" { // values of another type stay empty
			d.Scheduler = nil
		}
	}
	_, err = dec.Token()
	return err
}
