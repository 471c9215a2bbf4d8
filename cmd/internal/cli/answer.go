package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/ask"
)

// AnswerFlags say which answers are asked for, as "sotto answer" and routes that answer from records have them.
type AnswerFlags struct {
	RequestFlags
	SourceFlags
	Method    string
	answers   int64
	maxTokens int
}

// Add adds the flags, except for those of the records.
func (o *AnswerFlags) Add(cmd *cobra.Command) {
	o.RequestFlags.Add(cmd, "an answer", "required", method.Texts, method.Answers)
	f := cmd.Flags()
	f.Int64Var(&o.answers, "answers", 1, "let --epsilon be for `N` answers together, not for each")
	f.IntVar(&o.maxTokens, "max-tokens", 0, "the most tokens that an answer has, all of which are charged (default: the task's)")
	AddChoice(cmd, &o.Method, "method", "", "how records answer: "+strings.Join(answerMethods(), ", ")+" (default: vote for tasks with a list of labels, else "+plan.DefaultWriter+")", answerMethods()...)
}

// Options makes of the flags what the library takes.
func (o *AnswerFlags) Options() (sotto.AnswerOptions, error) {
	var s sotto.AnswerOptions
	method, err := o.Named(o.Method)
	if err != nil {
		return s, err
	}
	q, err := o.Request(method)
	if err != nil {
		return s, err
	}
	o.Columns(&q.Task)
	if o.Size == SizeAuto {
		return s, Usage("--size is auto, and answers need a number: declare how many records there are, such as 20000; it is public")
	}
	if method == "public" && o.Size == "" {
		q.Size = 1 // nobody is drawn
	}
	if err := o.Positive(map[string]float64{"answers": float64(o.answers), "max-tokens": float64(o.maxTokens)}); err != nil {
		return s, err
	}
	q.Answers, q.Tokens = o.answers, o.maxTokens
	s = sotto.AnswerOptions{
		Request: ask.As[sotto.Request](q), Parallel: o.Parallel,
	}
	s.Source, s.Use, err = o.Source(o.Task, method)
	s.NonPrivate = s.NonPrivate || o.Claims()
	return s, err
}
