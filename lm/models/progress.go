package models

import (
	"fmt"
	"time"
)

// Progress reports the progress of a pull.
type Progress struct {
	// Title of the model, File that is being fetched, Source it comes from.
	Title, File, Source string
	// Done of Total bytes of the file. Done never decreases while a source is
	// being asked. Total is 0 while it is not known.
	Done, Total int64
	// Note, if not empty, describes an event: a source failed, another process is being
	// waited for, a damaged file was set aside.
	Note string
}

// meter reports progress, not too often.
type meter struct {
	report  func(Progress)
	current Progress
	last    time.Time
}

const meterInterval = 100 * time.Millisecond

// begin starts a file or a source.
func (m *meter) begin(title, file, source string, done, total int64) {
	m.current = Progress{Title: title, File: file, Source: source, Done: done, Total: total}
	m.send(m.current)
}

// at reports the number of bytes so far. Unpacking a package that was just counted while it
// came in starts over, which nobody needs to see.
func (m *meter) at(done int64) {
	if done <= m.current.Done {
		return
	}
	m.current.Done = done
	if now := time.Now(); now.Sub(m.last) >= meterInterval || done == m.current.Total {
		m.last = now
		m.send(m.current)
	}
}

func (m *meter) note(format string, args ...any) {
	p := m.current
	p.Note = fmt.Sprintf(format, args...)
	m.send(p)
}

func (m *meter) send(p Progress) {
	if m.report != nil {
		m.report(p)
	}
}

// Size formats a number of bytes.
func Size(bytes int64) string {
	const step = 1000
	if bytes < step {
		return fmt.Sprintf("%d bytes", bytes)
	}
	value, unit := float64(bytes), 0
	// A rounded 1000 belongs to the next unit.
	for value >= step-0.05 && unit < len(units)-1 {
		value /= step
		unit++
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

var units = []string{"bytes", "kB", "MB", "GB", "TB", "PB", "EB"}
