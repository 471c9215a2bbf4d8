package texts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// answerLine is an answer as programs get it.
type answerLine struct {
	Input   string `json:"input"`
	Answer  string `json:"answer"`
	Tokens  int    `json:"tokens"`
	Method  string `json:"method"`
	Private bool   `json:"private"`
	// Claim is what a publication says of the method and is not proven.
	Claim     string            `json:"claim,omitempty"`
	Event     string            `json:"event"`
	Epsilon   ui.Real           `json:"epsilon"`
	Delta     float64           `json:"delta"`
	Adjacency privacy.Adjacency `json:"adjacency"`
	Unit      privacy.Unit      `json:"unit"`
	// Spent, Left and Limit belong to the budget that has least left, after this answer;
	// they are missing where nothing is booked.
	Spent    *ui.Real `json:"epsilon_spent,omitempty"`
	Left     *ui.Real `json:"epsilon_left,omitempty"`
	Limit    *ui.Real `json:"epsilon_limit,omitempty"`
	InSeries int64    `json:"answers_in_series,omitempty"`
	Charge   string   `json:"charge,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// answerView shows answers as they come, and then what they cost.
type answerView struct {
	*cli.Program
	*ui.Progress
	terms answerTerms
	// quiet: answers go to a file alone.
	quiet bool
	// partial: as many questions are answered as the budget allows.
	partial bool
	file    *answerFile

	// began: the program; asked: the first question.
	began, asked time.Time
	done, of     int
	said         []string
	newest       *sotto.Answer
}

func newAnswerView(p *cli.Program, terms answerTerms, quiet bool) *answerView {
	return &answerView{Program: p, Progress: p.Terminal.Progress(), terms: terms, quiet: quiet, began: time.Now()}
}

// observe is told how it goes.
func (v *answerView) observe(e sotto.Progress) {
	if e.Kind == sotto.Wrote && !v.Due() {
		return
	}
	switch {
	case v.Progress.JSON:
		v.Object(e)
		v.said = append(v.said, e.Message)
	case e.Kind == sotto.Cautioned:
		v.warnOnce([]string{e.Message})
	case e.Message != "":
		v.say(e.Message)
	}
}

// say prints a message, once.
func (v *answerView) say(text string) {
	if slices.Contains(v.said, text) {
		return
	}
	v.said = append(v.said, text)
	v.Say(text)
}

// one answers a question, and shows the answer while it is written.
func (v *answerView) one(ctx context.Context, s *sotto.AnswerSession, question string) error {
	v.of = 1
	if err := v.mark(); err != nil {
		return err
	}
	t := &ui.Stream{W: v.Stdout}
	if v.Display {
		t.Width = ui.Width - 2
	}
	var stream func(string)
	if !v.Program.JSON && !v.quiet {
		stream = func(soFar string) {
			v.Clear()
			t.Show(soFar)
		}
	}
	if v.Screen {
		v.Draw("  asking " + s.Model)
	}
	a, err := s.Answer(ctx, question, stream)
	v.Clear()
	if err != nil {
		t.Break()
		return v.interrupted(err)
	}
	err = v.deliver(a, func() error {
		if v.quiet {
			return nil
		}
		return t.End(a.Text)
	})
	if err != nil {
		return err
	}
	return v.sum(s)
}

// deliver keeps an answer, and shows it: to programs as JSON, to people by show. It is
// paid for, so that people see it in any case.
func (v *answerView) deliver(a *sotto.Answer, show func() error) error {
	v.done, v.newest = v.done+1, a
	v.warnOnce(a.Warnings)
	line := v.terms.line(a)
	err := v.file.keep(line)
	switch {
	case err != nil:
	case v.Program.JSON:
		err = v.WriteJSON(line)
	default:
		err = show()
	}
	if err != nil {
		fmt.Fprintf(v.Stderr, "%s\n", ui.Visible(a.Text))
		return fmt.Errorf("the answer could not be kept, and is shown above: %w", err)
	}
	return nil
}

// all answers questions, and shows each answer when it is there.
func (v *answerView) all(ctx context.Context, s *sotto.AnswerSession, questions []string) error {
	before := len(v.file.before)
	v.of, v.done, v.asked = len(questions), before, time.Now()
	if err := v.mark(); err != nil {
		return err
	}
	v.progress()
	err := s.All(ctx, questions[before:], func(i int, a *sotto.Answer) error {
		v.Clear()
		err := v.deliver(a, func() error {
			if v.quiet {
				return nil
			}
			return v.show(func(p *ui.Page) { printAnswer(p, before+i+1, a) })
		})
		v.progress()
		return err
	})
	v.Clear()
	if v.partial && v.done > 0 && errors.Is(err, ledger.ErrBudget) {
		v.say(fmt.Sprintf("the budget allowed %d of %d answers: the questions after them were left out", v.done, v.of))
		err = nil
	}
	if err != nil {
		return v.interrupted(err)
	}
	return v.sum(s)
}

// there shows answers that an earlier call has kept.
func (v *answerView) there(lines []answerLine) error {
	if v.Program.JSON {
		for _, line := range lines {
			if err := v.WriteJSON(line); err != nil {
				return err
			}
		}
	}
	v.say(fmt.Sprintf("the answers are there already, %d of them; nothing was charged", len(lines)))
	return nil
}

// progress draws how many answers are done.
func (v *answerView) progress() {
	if !v.Screen || v.of == 1 {
		return
	}
	share := float64(v.done) / float64(v.of)
	line := fmt.Sprintf("  %s  %d of %d answers", ui.Gauge(share, 20), v.done, v.of)
	if a := v.newest; a != nil && a.Charge != "" {
		line += fmt.Sprintf("  ε %s of %s spent", ui.AtMost(a.Spent), ui.Whole(a.Limit))
	}
	v.Draw(line + ui.Left(time.Since(v.asked), share))
}

// interrupted reports what was charged before an answer failed: the error itself may be
// shown as an interrupt alone.
func (v *answerView) interrupted(err error) error {
	if v.done > 0 {
		charged := ui.If(v.newest != nil && v.newest.Charge != "", " and charged")
		v.say(fmt.Sprintf("%d of %d answers are done%s; they stand", v.done, v.of, charged))
	}
	if v.file.resumes && v.done > 0 {
		v.say("the same command resumes from here, and nothing is charged twice")
	}
	var charged *sotto.ChargedError
	if errors.As(err, &charged) && errors.Is(err, context.Canceled) {
		v.say(charged.Error())
	}
	return err
}

func (v *answerView) warnOnce(warnings []string) {
	for _, w := range warnings {
		if !slices.Contains(v.said, w) {
			v.say("warning: " + w)
			v.said = append(v.said, w)
		}
	}
}

// show prints something right away.
func (v *answerView) show(print func(*ui.Page)) error { return v.Emit(ui.PageFunc(print)) }
