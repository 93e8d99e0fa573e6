// Command tree is an agent that leaves processes behind by many methods. All of them have the word of its first
// argument, by which a test finds them.
//
//	tree <word> <dir> root <kind>,<kind>...   start processes of these kinds, create <dir>/ready, and stay
//
// Under the name claude, as the agent's command line, it reads the same from the variables TREE_WORD, TREE_DIR and
// TREE_KINDS. Each process that stays adds a line to <dir>/tally. If <dir>/quiet exists, tree starts nothing and
// succeeds.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// stay is how long a process lives without a signal.
	stay = time.Hour
	// storm is the number of processes that a storm starts, one every stormPause.
	storm      = 40
	stormPause = 3 * time.Millisecond
	// hop is the lifetime of a hopper, which then starts its successor.
	hop = 200 * time.Millisecond
)

// node is one process of the tree.
type node struct{ word, dir, kind, rest string }

// kinds holds the action of each kind of process. Processes of the kinds that begin with "in-" stay in the group of the
// root, the others leave it.
var kinds = map[string]func(node) error{
	"root":         node.root,
	"in-child":     node.last,
	"in-parent":    func(n node) error { return errors.Join(n.start("in-child", way{}), n.last()) },
	"in-deaf":      func(n node) error { ignoreSignals(); return n.last() },
	"in-orphan":    func(n node) error { return n.start("in-child", way{}) }, // the child's parent ends
	"in-storm":     node.storms,
	"session":      node.last,
	"group":        node.last,
	"double":       func(n node) error { return n.start("away", way{attr: syscall.SysProcAttr{Setsid: true}}) },
	"bare":         func(n node) error { return n.start("daemon", way{attr: syscall.SysProcAttr{Setsid: true}, bare: true}) },
	"bare-group":   func(n node) error { ignoreSignals(); return n.last() },
	"away-storm":   node.storms,
	"hopper":       node.hops,
	"bare-hopper":  node.hops,
	"away":         node.last,
	"daemon":       func(n node) error { closeAll(); ignoreSignals(); return n.last() },
	"storm-member": node.last,
}

// ways holds the start of each kind whose first process leaves the group of the root.
var ways = map[string]way{
	"session":     {attr: syscall.SysProcAttr{Setsid: true}},
	"group":       {attr: syscall.SysProcAttr{Setpgid: true}},
	"bare-group":  {attr: syscall.SysProcAttr{Setpgid: true}, bare: true},
	"away-storm":  {attr: syscall.SysProcAttr{Setsid: true}},
	"hopper":      {attr: syscall.SysProcAttr{Setsid: true}},
	"bare-hopper": {attr: syscall.SysProcAttr{Setsid: true}, bare: true},
}

// way describes the start of a process.
type way struct {
	attr syscall.SysProcAttr
	// bare is true for a process without any environment, in the root directory.
	bare bool
}

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "tree:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if filepath.Base(args[0]) == "claude" {
		return agent()
	}
	if len(args) < 4 || kinds[args[3]] == nil {
		return fmt.Errorf("usage: %s <word> <dir> <kind> [<more>]", args[0])
	}
	return kinds[args[3]](node{word: args[1], dir: args[2], kind: args[3], rest: strings.Join(args[4:], " ")})
}

// agent becomes the root, or prints the output of a successful Claude Code.
func agent() error {
	dir := os.Getenv("TREE_DIR")
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	if quiet(dir) {
		for _, word := range strings.Fields(string(prompt)) {
			if filepath.Base(word) == "result.json" {
				err = os.WriteFile(word, []byte(`{"summary": "done"}`), 0o644)
			}
		}
		fmt.Println(`{"type":"result","subtype":"success","is_error":false,"result":"done","num_turns":1,"session_id":"s"}`)
		return err
	}
	return syscall.Exec("/proc/self/exe", []string{"tree", os.Getenv("TREE_WORD"), dir, "root", os.Getenv("TREE_KINDS")}, os.Environ())
}

func quiet(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "quiet"))
	return err == nil
}

// start starts a process and forgets it.
func (n node) start(kind string, w way, rest ...string) error {
	cmd := exec.Command("/proc/self/exe", append([]string{n.word, n.dir, kind}, rest...)...)
	cmd.Args[0] = "tree"
	cmd.SysProcAttr = &w.attr
	if w.bare {
		cmd.Env, cmd.Dir = []string{}, "/"
	}
	return cmd.Start()
}

// root starts processes of the kinds, waits until the tally has a line for each of them, and stays itself.
func (n node) root() error {
	if quiet(n.dir) {
		return nil
	}
	wanted := strings.Split(n.rest, ",")
	for _, kind := range wanted {
		if err := n.start(kind, ways[kind]); err != nil {
			return err
		}
	}
	for {
		text, _ := os.ReadFile(filepath.Join(n.dir, "tally"))
		if bytes.Count(text, []byte("\n")) >= len(wanted) {
			break
		}
		<-time.After(5 * time.Millisecond)
	}
	if err := os.WriteFile(filepath.Join(n.dir, "ready"), []byte("ready\n"), 0o644); err != nil {
		return err
	}
	return n.last()
}

// last records the process and stays.
func (n node) last() error {
	if err := n.record(); err != nil {
		return err
	}
	<-time.After(stay)
	return nil
}

// record adds a line to the tally.
func (n node) record() error {
	f, err := os.OpenFile(filepath.Join(n.dir, "tally"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%d %s\n", os.Getpid(), n.kind)
	return err
}

// storms starts one process after the other, then stays.
func (n node) storms() error {
	kind := "storm-member"
	if strings.HasPrefix(n.kind, "in-") {
		kind = "in-child"
	}
	for range storm {
		if err := n.start(kind, way{}); err != nil {
			return err
		}
		<-time.After(stormPause)
	}
	return n.last()
}

// hops starts a successor in its own session and ends, so that a search can miss the process.
func (n node) hops() error {
	count, _ := strconv.Atoi(n.rest)
	if count == 0 {
		if err := n.record(); err != nil {
			return err
		}
	}
	<-time.After(hop)
	if time.Duration(count)*hop > stay {
		return nil
	}
	return n.start(n.kind, ways[n.kind], strconv.Itoa(count+1))
}

// ignoreSignals ignores the usual signals that end a process, except SIGKILL.
func ignoreSignals() { signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT) }

// closeAll closes the standard streams and every other descriptor of a file.
func closeAll() {
	for fd := range 3 {
		_ = syscall.Close(fd)
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil {
			if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(target, "/") {
				_ = syscall.Close(fd)
			}
		}
	}
}
