package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/lm/models"
)

// Tick is how often a bar is drawn and programs are told of small steps.
const Tick = 200 * time.Millisecond

// Progress shows on Stderr how something goes: a bar in the last line of a terminal, lines
// elsewhere; programs get a JSON object a line.
type Progress struct {
	W io.Writer
	// Bar: W is a terminal. JSON: a program reads it.
	Bar, JSON bool
	// Now is the clock.
	Now func() time.Time
	// Drawn reports whether a bar is on the screen.
	Drawn bool

	last time.Time
}

// Progress makes one for the terminal.
func (t *Terminal) Progress() *Progress {
	return &Progress{W: unguarded(t.Stderr), Bar: t.Screen, JSON: t.JSON && !t.Screen, Now: time.Now}
}

// Due reports whether an interval has passed since it last said so.
func (p *Progress) Due() bool {
	now := p.Now()
	if now.Sub(p.last) < Tick {
		return false
	}
	p.last = now
	return true
}

// Draw draws the bar anew.
func (p *Progress) Draw(line string) {
	fmt.Fprintf(p.W, "\r%s\x1b[K", Visible(line))
	p.Drawn = true
}

// Clear takes the bar away, so that lines can be printed.
func (p *Progress) Clear() {
	if p.Drawn {
		fmt.Fprint(p.W, "\r\x1b[K")
		p.Drawn = false
	}
}

// Say prints a message, below which the bar continues.
func (p *Progress) Say(text string) {
	p.Clear()
	if p.JSON {
		p.Object(struct {
			Event   string `json:"event"`
			Message string `json:"message"`
		}{"notice", text})
		return
	}
	fmt.Fprintln(p.W, Visible(text))
}

// Object prints a JSON object on a line.
func (p *Progress) Object(v any) {
	if data, err := json.Marshal(v); err == nil {
		fmt.Fprintf(p.W, "%s\n", Visible(string(data)))
	}
}

// Reading shows how much of the data was read; a total of 0 is not known.
func (p *Progress) Reading(read, total int64) {
	if !p.Bar || !p.Due() {
		return
	}
	line := "  reading the data  " + models.Size(read)
	if total > 0 {
		line += " of " + models.Size(total)
	}
	p.Draw(line)
}

// Gauge shows a share from 0 to 1.
func Gauge(share float64, width int) string {
	full := min(width, max(0, int(share*float64(width))))
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// Left estimates how long the rest takes, "" while too little is done.
func Left(elapsed time.Duration, share float64) string {
	if elapsed <= time.Second || share <= 0 {
		return ""
	}
	return "  " + time.Duration(float64(elapsed)*(1-share)/share).Round(time.Second).String() + " left"
}

// Bar shows how many of a known number of things are done.
type Bar struct {
	*Progress
	what  string
	began time.Time
}

// Bar makes one about what is named.
func (t *Terminal) Bar(what string) *Bar { return &Bar{t.Progress(), what, time.Now()} }

// SharedBar is a bar that several goroutines draw.
type SharedBar struct {
	sync.Mutex
	*Bar
}

// SharedBar makes one about what is named.
func (t *Terminal) SharedBar(what string) *SharedBar { return &SharedBar{Bar: t.Bar(what)} }

// Show draws the bar.
func (b *SharedBar) Show(done, of int, unit string) {
	b.Lock()
	defer b.Unlock()
	b.Bar.Show(done, of, unit)
}

// Show draws the bar.
func (b *Bar) Show(done, of int, unit string) {
	if !b.Progress.Bar || !b.Due() {
		return
	}
	share := float64(done) / float64(max(1, of))
	b.Draw(fmt.Sprintf("  %s  %s  %d of %d %s%s", Gauge(share, 16), Cut(b.what, 20), done, of, unit, Left(b.Now().Sub(b.began), share)))
}
