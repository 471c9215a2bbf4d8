package ui

import (
	"fmt"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/run/env"
)

// RunProgress reports how a run is going: with a bar on a terminal, with a line
// for each text elsewhere; programs get a JSON object a line.
type RunProgress struct {
	*Progress
	// First is said before anything else.
	First string

	began   time.Time
	chosen  time.Time   // when the records began to choose
	encoded time.Time   // when the first ones were encoded
	known   float64     // and what share that was
	written map[int]int // tokens of each text that is not done
	total   int         // tokens of those that are
}

// Report shows an event of the run.
func (s *RunProgress) Report(e env.Progress) {
	if s.First != "" {
		s.Say(s.First)
		s.First = ""
	}
	now := s.Now()
	token := e.Kind == env.Wrote
	if token {
		if s.began.IsZero() {
			s.began = now
		}
		if s.written == nil {
			s.written = map[int]int{}
		}
		s.written[e.Text] = e.Tokens
		if !s.Due() {
			return
		}
	}
	if e.Kind == env.Released {
		s.total += s.written[e.Text]
		delete(s.written, e.Text)
	}
	switch {
	case e.Kind == env.Judged:
		// How often that comes depends on the records: it is for a terminal alone.
		if s.Bar && s.Due() {
			s.Draw(s.judging(e, now))
		}
	case e.Kind == env.Encoded: // so does this
		if s.Bar && s.Due() {
			s.Draw(s.encoding(e, now))
		}
	case s.JSON:
		s.Object(e)
	case token && s.Bar:
		s.Draw(s.line(e, now))
	case token:
	case e.Message != "":
		s.Say(e.Message)
	case e.Kind == env.Chose:
		s.Say(fmt.Sprintf("round %d of %d: the records chose %s", e.Round, e.Rounds, Examples(e.Examples)))
	case e.Kind == env.Released && !s.Bar:
		s.Say(fmt.Sprintf("text %d is done, %d of %d", e.Text, e.Done, e.Texts))
	}
}

// Restart begins another stage, in which texts count anew.
func (s *RunProgress) Restart() { s.began, s.written, s.total = s.Now(), nil, 0 }

// line is a bar of at most 80 columns: how much is written, how fast, how long at most.
func (s *RunProgress) line(e env.Progress, now time.Time) string {
	// Texts that are done count in full, also those that ended early.
	open := 0
	for _, n := range s.written {
		open += n
	}
	left := max(0, (e.Texts-e.Done)*e.MaxTokens-open)
	share := 1 - float64(left)/float64(max(1, e.Texts*e.MaxTokens))
	parts := []string{
		Gauge(share, 20),
		fmt.Sprintf("text %d of %d", e.Text, e.Texts),
		fmt.Sprintf("%d of %d tokens", e.Tokens, e.MaxTokens),
	}
	if elapsed := now.Sub(s.began).Seconds(); elapsed > 0.5 {
		rate := float64(s.total+open) / elapsed
		wait := time.Duration(float64(left) / rate * float64(time.Second))
		parts = append(parts, fmt.Sprintf("%.1f/s", rate), "≤ "+wait.Round(time.Second).String()+" left")
	}
	return "  " + strings.Join(parts, "  ")
}

// judging is a bar for the rounds in which records choose. It moves with the rounds alone.
func (s *RunProgress) judging(e env.Progress, now time.Time) string {
	if s.chosen.IsZero() {
		s.chosen = now
	}
	parts := []string{Gauge(float64(e.Round-1)/float64(max(1, e.Rounds)), 20), fmt.Sprintf("round %d of %d", e.Round, e.Rounds), "records are judging"}
	if e.Round > 1 {
		each := now.Sub(s.chosen) / time.Duration(e.Round-1)
		parts = append(parts, "about "+(each*time.Duration(e.Rounds-e.Round+1)).Round(time.Second).String()+" left")
	}
	return "  " + strings.Join(parts, "  ")
}

// encoding is a bar for the time in which records are encoded.
func (s *RunProgress) encoding(e env.Progress, now time.Time) string {
	if s.encoded.IsZero() {
		s.encoded, s.known = now, e.Share // what an earlier run encoded comes at once
	}
	parts := []string{Gauge(e.Share, 20), fmt.Sprintf("%3.0f %% of records", 100*e.Share), "records are encoded"}
	if passed := now.Sub(s.encoded); e.Share > s.known && passed >= time.Second {
		left := time.Duration(float64(passed) * (1 - e.Share) / (e.Share - s.known))
		parts = append(parts, "about "+left.Round(time.Second).String()+" left")
	}
	return "  " + strings.Join(parts, "  ")
}

// Examples counts the examples of a prompt, in words.
func Examples(n int) string {
	switch n {
	case 0:
		return "no examples"
	case 1:
		return "one example"
	}
	return fmt.Sprintf("%d examples", n)
}
