package answer

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy"
)

// report reports progress, one at a time.
func (s *Session) report(e env.Progress) {
	if s.options.Env.Observe == nil {
		return
	}
	e.Answering, e.MaxTokens = true, s.options.Plan.Tokens
	s.reporting.Lock()
	defer s.reporting.Unlock()
	s.options.Env.Observe(e)
}

// warn reports a message, and adds it to the next answer.
func (s *Session) warn(k env.Kind, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	s.mu.Lock()
	s.warnings = append(s.warnings, message)
	s.mu.Unlock()
	s.report(env.Progress{Kind: k, Message: message})
}

// caution warns of what is allowed and yet not as it should be.
func (s *Session) caution() {
	for _, w := range s.options.Plan.Warnings() {
		s.warn(env.Cautioned, "%s", w)
	}
	// It depends on the records: no answer, which may be kept, has it.
	if s.options.Data != nil {
		if message := s.options.Data.Declared([]int64{s.options.Plan.Size}); message != "" {
			s.report(env.Progress{Kind: env.Recognised, Message: message})
		}
	}
	if !s.charged {
		return
	}
	if large := privacy.LargeDelta(s.options.Plan.Delta, s.options.Plan.Size); large != "" {
		s.warn(env.Cautioned, "%s", large)
	}
	if s.isolation.Declared() {
		s.warn(env.Cautioned, "the guarantee assumes that nobody else uses the server while questions are answered, as you say")
	}
}
