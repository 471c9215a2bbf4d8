package texts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/ask"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/internal/ui/settings"
	"github.com/sotto-dp/sotto/prompt"
)

type answerOptions struct {
	cli.AnswerFlags
	flags.Model
	input  string
	inputs string
	asMany bool
	cut    bool
	out    string
}

func newAnswerCommand(p *cli.Program) *cobra.Command {
	var opt answerOptions
	cmd := &cobra.Command{
		Use:   "answer --task T --data F --size N --epsilon E --input TEXT",
		Short: "Private answers to questions, each charged to the budget",
		Long: `Answers questions with the help of private records, such that every answer is
(ε, δ)-differentially private: with one record more or less, any answer is about
as likely. Answers may be shown to anyone. Questions are not protected.

ε is for each answer, or with --answers N for N of them together. Each answer is
charged to the data set's budget in the ledger before a record is drawn, at its
worst case (--max-tokens); what the budget does not allow is refused (exit code
3), and nothing is charged. A file of questions is refused as a whole unless all
of it fits, or --as-many-as-fit. A data set that the ledger does not know gets a
budget of just what is asked for. The same question again is charged again; only
a file of questions with --out that was interrupted resumes when the same
command is repeated, and nothing is charged twice (FILE.asked has its secret
until then; with a server that does not repeat itself exactly, as many answers
as are written at once are charged again).

If the same examples can serve for many questions, "sotto synth" is the better
bargain: what it writes is paid for once.

Methods that combine the whole answers of many prompts (vote is for tasks with a
list of labels):
` + cli.MethodHelp(method.Answers) + `

Methods that write token by token (real cannot answer questions):
` + cli.MethodHelp(method.Texts) + `

"sotto plan --answers 1" says what each costs.

` + flags.ModelHelp + ui.JSONKeys(answerLine{}, `It is one object for --input, and a line for each of --inputs; if those end early, the last line has "error" and "code". --out gets the same lines. epsilon_spent, epsilon_left and epsilon_limit are about the budget that has least left. How long it takes and what it makes the model do ("cost", and "usage" in the progress that --json prints on standard error if that is no terminal) depends on the records that were drawn: do not publish it.`),
		Example: `  sotto answer --task samsum --data chats.jsonl --size 14732 --epsilon 0.5 --input 'Ann: Six? Ben: Fine.'
  sotto answer --task agnews --data news.jsonl --size 120000 --epsilon 0.1 --inputs questions.txt --out answers.jsonl
  sotto answer --task samsum --data chats.jsonl --size 14732 --epsilon 8 --answers 100 --inputs chats.txt --json
  sotto answer --task samsum --data chats.jsonl --size 14732 --epsilon 2 --method mixing --set proof=published --input 'Ann: Six?'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "task", "data", "size", "epsilon"); err != nil && opt.Method == "" {
				return err
			}
			return runAnswer(cmd.Context(), p, opt)
		},
	}
	opt.add(cmd)
	return cmd
}

func (o *answerOptions) add(cmd *cobra.Command) {
	o.AnswerFlags.Add(cmd)
	o.Model.AddFew(cmd)
	o.SourceFlags.Add(cmd, "answers")
	f := cmd.Flags()
	f.StringVar(&o.input, "input", "", "the question, a `TEXT`; - reads it from standard input")
	f.StringVar(&o.inputs, "inputs", "", "answer the questions in `FILE`: a line each, or JSONL with the task's column of inputs")
	f.BoolVar(&o.asMany, "as-many-as-fit", false, "with --inputs: if the budget does not allow all answers, give the first ones that it allows")
	settings.Flags(cmd).BoolVar(&o.cut, "cut", false, "cut questions that are longer than the task allows, instead of refusing them")
	f.StringVar(&o.out, "out", "", "write answers to `FILE`, a JSON object a line; with --inputs also to continue with a list that was interrupted")
	cmd.MarkFlagsOneRequired("input", "inputs")
	cmd.MarkFlagsMutuallyExclusive("input", "inputs")
}

// options makes of the flags what the library takes.
func (o *answerOptions) options() (sotto.AnswerOptions, error) {
	s, err := o.AnswerFlags.Options()
	s.Cut, s.Partial = o.cut, o.asMany
	return s, err
}

// questions reads them.
func (o *answerOptions) questions(p *cli.Program, t prompt.Task) ([]string, error) {
	given := o.Given
	switch {
	case given("inputs"):
		column := t.Text
		if t.Kind == prompt.Generate {
			column = t.Label
		}
		list, err := prompt.ReadList(o.inputs, column, "question")
		return list, ui.AsUsage(err)
	case o.asMany:
		return nil, cli.Usage("--as-many-as-fit goes with --inputs")
	}
	text := o.input
	if text == "-" {
		data, err := io.ReadAll(io.LimitReader(p.Stdin, cli.LongestQuestion))
		if err != nil {
			return nil, fmt.Errorf("read the question from standard input: %w", err)
		}
		text = string(data)
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return nil, cli.Usage("the question is empty: --input should hold a text to answer")
	case !utf8.ValidString(text):
		return nil, cli.Usage("the question is not text in UTF-8")
	}
	return []string{text}, nil
}

func runAnswer(ctx context.Context, p *cli.Program, opt answerOptions) (err error) {
	o, err := opt.options()
	if err != nil {
		return err
	}
	questions, err := opt.questions(p, o.Request.Task)
	if err != nil {
		return err
	}
	many := opt.Given("inputs")
	p.Lines = many
	name := cmp.Or(o.Request.Method, plan.DefaultAnswer(o.Request.Task))
	if err := opt.Explicit(name); err != nil {
		return err
	}
	planned, err := fault.Await(ctx, func() (plan.Answers, error) { return plan.NewAnswers(ask.As[plan.Request](o.Request)) })
	if err != nil {
		return err
	}
	o.Plan = &planned
	terms, err := newAnswerTerms(ctx, planned, o.Seed != nil)
	if err != nil {
		return err
	}
	v := newAnswerView(p, terms, opt.out != "")
	v.partial = opt.asMany
	client, model, err := p.ModelClient(opt.Model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	cli.FirstContact(model, v.say)
	v.warnOnce(append(planned.Warnings(), smallDelta(planned)...))
	o.Observe, o.Source.Progress = v.observe, v.Reading
	s, err := client.Answers(ctx, o)
	v.Clear()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	complete := false
	if v.file, complete, err = opt.keepAnswers(s, questions, terms.caution() == ""); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.file.settle(s, v.done, err), v.file.close()) }()
	if complete {
		return v.there(v.file.before)
	}
	if many {
		return v.all(ctx, s, questions)
	}
	return v.one(ctx, s, questions[0])
}
