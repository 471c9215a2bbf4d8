package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/lm/models"
)

// synthProgress tells people how a run is going: with a bar on a terminal, with a line
// for each text elsewhere; programs get a JSON object a line.
type synthProgress struct {
	status
	bar, json bool
	now       func() time.Time

	began, last time.Time
	chosen      time.Time   // when the records began to choose
	written     map[int]int // tokens of each text that is not done
	total       int         // tokens of those that are
}

// progressInterval is how often a bar is drawn and programs hear of tokens.
const progressInterval = 200 * time.Millisecond

func newSynthProgress(p *program) *synthProgress {
	return &synthProgress{status: status{w: p.stderr}, bar: p.screen, json: p.json && !p.screen, now: time.Now, written: map[int]int{}}
}

// reading hears how much of the data was read.
func (s *synthProgress) reading(read, total int64) {
	now := s.now()
	if !s.bar || now.Sub(s.last) < progressInterval {
		return
	}
	s.last = now
	line := "  reading the data  " + models.Size(read)
	if total > 0 {
		line += " of " + models.Size(total)
	}
	s.draw(line)
}

// tell hears of an event of the run.
func (s *synthProgress) tell(e sotto.Progress) {
	now := s.now()
	token := e.Kind == sotto.Wrote
	if token {
		if s.began.IsZero() {
			s.began = now
		}
		s.written[e.Text] = e.Tokens
		if now.Sub(s.last) < progressInterval {
			return
		}
		s.last = now
	}
	if e.Kind == sotto.Released {
		s.total += s.written[e.Text]
		delete(s.written, e.Text)
	}
	switch {
	case e.Kind == sotto.Judged:
		// How often that comes depends on the records: it is for a terminal alone.
		if s.bar && now.Sub(s.last) >= progressInterval {
			s.last = now
			s.draw(s.judging(e, now))
		}
	case s.json:
		if data, err := json.Marshal(e); err == nil {
			fmt.Fprintf(s.w, "%s\n", data)
		}
	case token && s.bar:
		s.draw(s.line(e, now))
	case token:
	case e.Message != "":
		s.say(e.Message)
	case e.Kind == sotto.Chose:
		s.say(fmt.Sprintf("round %d of %d: the records chose %s", e.Round, e.Rounds, examplesInWords(e.Examples)))
	case e.Kind == sotto.Released && !s.bar:
		s.say(fmt.Sprintf("text %d is done, %d of %d", e.Text, e.Done, e.Texts))
	}
}

// line is a bar of at most 80 columns: how much is written, how fast, how long at most.
func (s *synthProgress) line(e sotto.Progress, now time.Time) string {
	// Texts that are done count in full, also those that ended early.
	open := 0
	for _, n := range s.written {
		open += n
	}
	left := max(0, (e.Texts-e.Done)*e.MaxTokens-open)
	share := 1 - float64(left)/float64(max(1, e.Texts*e.MaxTokens))
	parts := []string{
		gauge(share, 20),
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
func (s *synthProgress) judging(e sotto.Progress, now time.Time) string {
	if s.chosen.IsZero() {
		s.chosen = now
	}
	parts := []string{gauge(float64(e.Round-1)/float64(max(1, e.Rounds)), 20), fmt.Sprintf("round %d of %d", e.Round, e.Rounds), "records are judging"}
	if e.Round > 1 {
		each := now.Sub(s.chosen) / time.Duration(e.Round-1)
		parts = append(parts, "about "+(each*time.Duration(e.Rounds-e.Round+1)).Round(time.Second).String()+" left")
	}
	return "  " + strings.Join(parts, "  ")
}

// examplesInWords counts the examples of a prompt.
func examplesInWords(n int) string {
	switch n {
	case 0:
		return "no examples"
	case 1:
		return "one example"
	}
	return fmt.Sprintf("%d examples", n)
}

// say tells people something, below which the bar goes on.
func (s *synthProgress) say(text string) {
	s.clear()
	if s.json {
		s.tell(sotto.Progress{Kind: sotto.Notice, Message: text})
		return
	}
	fmt.Fprintln(s.w, text)
}
