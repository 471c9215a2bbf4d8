package ui

import (
	"fmt"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/lm/models"
)

// PullProgress reports how a model is fetched: with a bar on a terminal, else
// with a line now and then.
type PullProgress struct {
	*Progress
	file, source string
	began, last  time.Time
	first        int64 // bytes that were there when it began
}

// reportInterval is how often lines come where there is no bar.
const reportInterval = 5 * time.Second

// Report shows how far a file is.
func (r *PullProgress) Report(p models.Progress) {
	if p.Note != "" {
		r.Clear()
		fmt.Fprintln(r.W, p.Note)
		return
	}
	now := r.Now()
	if p.File != r.file || p.Source != r.source {
		r.Clear()
		r.file, r.source, r.began, r.last, r.first = p.File, p.Source, now, now, p.Done
		of := If(p.Total > 0, " ("+models.Size(p.Total)+")")
		of += If(p.Done > 0, fmt.Sprintf(", from %s on", models.Size(p.Done)))
		fmt.Fprintf(r.W, "fetching %s%s from %s\n", p.File, of, p.Source)
		return
	}
	line := r.line(p, now)
	switch {
	case r.Bar:
		r.Draw(line)
	case now.Sub(r.last) >= reportInterval:
		r.last = now
		fmt.Fprintln(r.W, line)
	}
}

// line is a bar, or its end without one, at most 80 columns wide.
func (r *PullProgress) line(p models.Progress, now time.Time) string {
	var parts []string
	if p.Total > 0 {
		share := float64(p.Done) / float64(p.Total)
		if r.Bar {
			parts = append(parts, Gauge(share, 24))
		}
		parts = append(parts, fmt.Sprintf("%3.0f%%", 100*share), fmt.Sprintf("%s of %s", models.Size(p.Done), models.Size(p.Total)))
	} else {
		parts = append(parts, models.Size(p.Done))
	}
	if elapsed := now.Sub(r.began).Seconds(); elapsed > 0.5 && p.Done > r.first {
		rate := float64(p.Done-r.first) / elapsed
		parts = append(parts, models.Size(int64(rate))+"/s")
		// The first bytes say little about the rest.
		if p.Total > p.Done && p.Done-r.first > p.Total/100 {
			left := time.Duration(float64(p.Total-p.Done) / rate * float64(time.Second))
			parts = append(parts, left.Round(time.Second).String()+" left")
		}
	}
	return "  " + strings.Join(parts, "  ")
}
