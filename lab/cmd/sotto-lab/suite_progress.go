package main

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/sys/fault"
)

// suiteProgress reports how a suite is going: with a bar on a terminal, with a line
// for each set elsewhere; programs get a JSON object a line.
type suiteProgress struct {
	*ui.Progress
	parallel int

	// left are the sets that are not done, by what they are except for their seed; took has
	// the seconds of those that are.
	left map[string]int
	took map[string][]float64
	// cached are sets whose answers were there already.
	cached map[string]bool

	// mu is for the bar, which continues between events: a set may take long.
	mu    sync.Mutex
	event suite.Progress // the last one
	// began, heard and drew are when the suite began, and when of the last event and bar.
	began, heard, drew time.Time
}

func newSuiteProgress(p *program, cells []suite.Cell, parallel int) *suiteProgress {
	s := &suiteProgress{
		Progress: p.Progress(), parallel: max(1, parallel),
		left: map[string]int{}, took: map[string][]float64{}, cached: map[string]bool{},
	}
	for _, c := range cells {
		s.left[c.Kind()]++
	}
	return s
}

// suiteLine is an event for programs.
type suiteLine struct {
	Event  suite.Kind `json:"event"`
	Cell   string     `json:"cell,omitempty"`
	Done   int        `json:"done"`
	Cells  int        `json:"cells"`
	Cached bool       `json:"cached,omitempty"`
	Tokens int64      `json:"model_tokens,omitempty"`
	Metric string     `json:"metric,omitempty"`
	Value  *float64   `json:"value,omitempty"`
	Error  string     `json:"error,omitempty"`
}

// watch draws the bar again now and then until the function that it returns is called,
// which takes the bar away.
func (s *suiteProgress) watch() (stop func()) {
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer fault.Watch()
		defer close(gone)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				s.mu.Lock()
				if s.Drawn {
					s.show()
				}
				s.mu.Unlock()
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-gone
		s.Clear()
	}
}

// report shows an event.
func (s *suiteProgress) report(e suite.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.event, s.heard = e, s.Now()
	if e.Kind == suite.Begun {
		s.began = s.heard
	}
	kind := e.Cell.Kind()
	if e.Kind == suite.Finished || e.Kind == suite.Failed {
		s.left[kind]--
		if len(e.Rows) > 0 {
			s.took[kind] = append(s.took[kind], e.Rows[0].WriteSeconds+e.Rows[0].AnswerSeconds)
		}
	}
	if e.Kind == suite.Answered && e.Cached {
		s.cached[e.Cell.String()] = true
	}
	switch {
	case s.JSON:
		s.object(e)
	case e.Kind == suite.Failed:
		s.Say(fmt.Sprintf("%s failed: %v", e.Cell, e.Err))
	case s.Bar && (s.heard.Sub(s.drew) >= ui.Tick || e.Done == e.Cells):
		s.show()
	case s.Bar:
	case e.Kind == suite.Finished:
		reused := ui.If(s.cached[e.Cell.String()], ", from the cache")
		s.Say(fmt.Sprintf("%d of %d  %s: %s %s%s", e.Done, e.Cells, e.Cell, e.Rows[0].Metric, ui.Percent(e.Rows[0].Value), reused))
	}
}

func (s *suiteProgress) object(e suite.Progress) {
	line := suiteLine{Event: e.Kind, Done: e.Done, Cells: e.Cells, Cached: e.Cached, Tokens: e.Tokens}
	if e.Kind != suite.Begun {
		line.Cell = e.Cell.String()
	}
	if len(e.Rows) > 0 {
		line.Metric, line.Value = e.Rows[0].Metric, &e.Rows[0].Value
	}
	if e.Err != nil {
		line.Error = e.Err.Error()
	}
	s.Object(line)
}

// show draws a bar of at most 80 columns.
func (s *suiteProgress) show() {
	e, now := s.event, s.Now()
	s.drew = now
	line := fmt.Sprintf("  %s  %d of %d sets  %s", ui.Gauge(float64(e.Done)/float64(max(1, e.Cells)), 16), e.Done, e.Cells, now.Sub(s.began).Round(time.Second))
	if left := s.remaining() - now.Sub(s.heard); left > 0 {
		line += fmt.Sprintf("  %s left", left.Round(time.Second))
	}
	if e.Kind != suite.Begun {
		line += "  " + e.Cell.String()
	}
	s.Draw(ui.CutLine(line, ui.Width-1))
}

// remaining expects of each set what others of its kind took, or else what all did.
func (s *suiteProgress) remaining() time.Duration {
	all := slices.Concat(slices.Collect(maps.Values(s.took))...)
	if len(all) == 0 {
		return 0
	}
	var seconds float64
	for kind, n := range s.left {
		list := s.took[kind]
		if len(list) == 0 {
			list = all
		}
		seconds += float64(n) * stat.Mean(list)
	}
	return time.Duration(seconds / float64(s.parallel) * float64(time.Second))
}
