package main

import (
	"fmt"
	"io"
	"strings"
)

// status is the last line of a terminal, drawn anew as something goes on.
type status struct {
	w     io.Writer
	drawn bool
}

func (s *status) draw(line string) {
	fmt.Fprintf(s.w, "\r%s\x1b[K", line)
	s.drawn = true
}

// clear takes the line away, so that others can be printed.
func (s *status) clear() {
	if s.drawn {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.drawn = false
	}
}

// gauge shows a share from 0 to 1.
func gauge(share float64, width int) string {
	full := min(width, max(0, int(share*float64(width))))
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}
