package run

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/private/count"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy"
)

// findEnding finds the last words that most records share, if the plan says so and there are
// such.
func (r *runner) findEnding(ctx context.Context) error {
	e := r.plan.Ending
	if e == nil || r.exec.progress.ended {
		return nil
	}
	found, ran, err := count.Endings(ctx, r.options.Data, e.Words, count.LabelOptions{Epsilon: e.Epsilon, Delta: e.Delta, Max: 1, MinCount: e.MinUnits}, r.exec.key.Stream("ending"))
	if err == nil {
		err = paid(ran, func(ran privacy.Event) bool { return ran == privacy.Approx{Epsilon: e.Epsilon, Delta: e.Delta} })
	}
	if err != nil {
		return fmt.Errorf("find a shared ending: %w", err)
	}
	if err := r.exec.note(entry{State: ended, Ending: strings.Join(found, "")}); err != nil {
		return err
	}
	said := "most records share no ending that could be found: texts end as they are written"
	if r.exec.progress.ending != "" {
		said = fmt.Sprintf("most records end with %q, and so will the texts", r.exec.progress.ending)
	}
	r.exec.report(env.Progress{Kind: env.Noted, Message: said})
	return nil
}

// withEnding ends a text with words, as a sentence of their own, unless it does already. Both
// are released.
func withEnding(text, ending string) string {
	if ending == "" {
		return text
	}
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	if text == "" || strings.HasSuffix(strings.ToLower(text), strings.ToLower(ending)) {
		return text
	}
	if last, _ := utf8.DecodeLastRuneInString(text); unicode.IsLetter(last) || unicode.IsDigit(last) {
		text += "."
	}
	return text + " " + ending
}
