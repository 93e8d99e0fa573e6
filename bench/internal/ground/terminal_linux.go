package ground

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Screen runs the watch command in a terminal until text is on the screen. It returns the seconds
// from the start of the command until then.
func (p *Project) Screen(ctx context.Context, session, text string) (took float64, err error) {
	t, err := openTerminal()
	if err != nil {
		return 0, err
	}
	defer t.Close()
	c := exec.CommandContext(ctx, p.ground.Command, "watch", session, "--plugin-dir", p.ground.Plugins)
	c.Dir, c.Env = p.Dir, append(p.ground.environment(), "TERM=xterm-256color")
	c.Stdin, c.Stdout, c.Stderr = t.user, t.user, t.user
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	began := time.Now()
	if err := c.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = c.Process.Kill() // the process may have ended
		_ = c.Wait()         // the error is that of the kill
	}()
	if err := t.await(text); err != nil {
		return 0, fmt.Errorf("watch %s: %w", session, err)
	}
	return time.Since(began).Seconds(), nil
}

// terminal is a pair of terminal ends: ours and the program's.
type terminal struct{ ours, user *os.File }

// openTerminal opens a terminal of 120 columns and 40 rows. The caller closes it.
func openTerminal() (t terminal, err error) {
	if t.ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return t, err
	}
	conn, err := t.ours.SyscallConn()
	if err != nil {
		return t, err
	}
	number := 0
	var failed error
	err = conn.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed != nil {
			return
		}
		if failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}); failed != nil {
			return
		}
		number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
	})
	if err == nil {
		err = failed
	}
	if err == nil {
		t.user, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.ours.Close()
		return t, fmt.Errorf("open a terminal: %w", err)
	}
	return t, nil
}

// await reads the program's output until it contains text.
func (t terminal) await(text string) error {
	if err := t.ours.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	var drawn []byte
	piece := make([]byte, 32<<10)
	for !bytes.Contains(drawn, []byte(text)) {
		n, err := t.ours.Read(piece)
		if drawn = append(drawn, piece[:n]...); err != nil {
			return fmt.Errorf("wait for %q on the screen: %w\n%q", text, err, drawn[max(0, len(drawn)-500):])
		}
	}
	return nil
}

// Close closes both ends.
func (t terminal) Close() {
	t.user.Close()
	t.ours.Close()
}
