// Command lines reads a file line by line and prints the number of lines. It is the minimal reader of a journal.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	n, err := count(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "lines:", err)
		os.Exit(1)
	}
	fmt.Println(n)
}

func count(args []string) (n int, err error) {
	if len(args) != 1 {
		return 0, errors.New("usage: lines <file>")
	}
	f, err := os.Open(args[0])
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10) // the maximum length of a line
	for {
		switch _, err := r.ReadSlice('\n'); {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
		n++
	}
}
