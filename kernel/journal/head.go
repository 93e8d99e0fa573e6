package journal

import (
	"context"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Accept makes the journal continue although its chain is broken: the heads that it keeps accept all present lines. Only
// the caller of [Open] may call it, before the first append.
func (j *Journal) Accept() {
	j.writing.Lock()
	defer j.writing.Unlock()
	end := &j.file.scan.chain.end
	end.Accepted, end.From = j.file.scan.chain.result().End.Accepted, 0
}

// openHead keeps a head that is not at rest before the first line of this process. Lines behind it are then no break,
// whenever the process dies. The caller holds writing and the file's lock.
func (j *Journal) openHead() error {
	if j.opts.KeepHead == nil || j.headOpen {
		return nil
	}
	if err := j.file.disk.Sync(); err != nil { // an earlier process may have died before it did this
		return j.file.diskError(err)
	}
	failpoint.Point("journal.head.before-open")
	j.file.synced = j.file.scan.chain.end
	if err := j.opts.KeepHead(j.file.synced); err != nil {
		if j.opts.Head != nil { // it stays, and the lines that follow would count as added
			return err
		}
		j.file.log.Warn("cannot keep the head of the journal; lines that are cut off cannot be found", "error", err)
	}
	j.headOpen = true
	failpoint.Point("journal.head.after-open")
	return nil
}

// keepHeads keeps the newest head whose line is on the disk, once in an interval.
func (j *Journal) keepHeads() {
	tick := time.NewTicker(headInterval)
	defer tick.Stop()
	var kept Head
	for {
		select {
		case <-j.quit:
			return
		case <-tick.C:
		}
		j.writing.Lock()
		head, open := j.file.synced, j.headOpen
		j.writing.Unlock()
		if !open || head == kept {
			continue
		}
		if err := j.opts.KeepHead(head); err != nil {
			j.file.log.Debug("cannot keep the head of the journal", "error", err)
		}
		kept = head
	}
}

// restHead keeps the head of a journal that is closed after all its lines were synced. Without it, the head kept last
// stays. The caller holds writing.
func (j *Journal) restHead() {
	if !j.headOpen || j.failure() != nil || store.Flock(context.Background(), j.file.lock) != nil {
		return
	}
	defer func() { _ = store.Unflock(j.file.lock) }()
	if _, changed, err := j.file.catchUp(); err != nil || changed || j.file.scan.chain.torn {
		return // another process writes
	}
	head := j.file.scan.chain.end
	head.Rest = true
	failpoint.Point("journal.head.before-rest")
	if err := j.opts.KeepHead(head); err != nil {
		j.file.log.Warn("cannot keep the head of the journal", "error", err)
	}
	failpoint.Point("journal.head.after-rest")
}
