package start

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
)

func newTaskCommand(p *cli.Program) *cobra.Command {
	return cli.NewGroup("task", "Tasks: what records are, and how prompts are laid out",
		`A task says what the records of a data set are, how a text is written for a
label or an input, and how a question is answered with demonstrations. It is
public: it is written without looking at the data. Some are built in; your own
is a TOML file of about ten lines:

  kind = "classify"         a label of a list; "extract": a phrase of the text;
                            "generate": an output text for an input
  text, label               columns of the data; to generate: input, output
  labels = ["A", "B"]       all labels that there are, if they are publicly known
  aliases = { "a" = "A" }   spellings in the data
  conditions = ["x", "y"]   what to write texts for where there is no such list
  stop = ["\n"]             a text ends before the first of these
  [generate]                instruction, condition and text (names of the fields
                            in a prompt), or a template that ends with {text}
  [answer]                  instruction, input and output, or a template that
                            ends with {output}
  [limits]                  max_tokens, min_tokens, record_tokens, input_tokens,
                            answer_tokens, shots`,
		`  sotto task list
  sotto task show agnews
  sotto task check mine.toml`,
		newTaskListCommand(p), newTaskShowCommand(p), newTaskCheckCommand(p))
}

type taskSummary struct {
	Name   string      `json:"name"`
	Title  string      `json:"title"`
	Kind   prompt.Kind `json:"kind"`
	Labels []string    `json:"labels"`
}

type taskList struct {
	Tasks []taskSummary `json:"tasks"`
}

func newTaskListCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "The built-in tasks",
		Long: `Lists the built-in tasks. "sotto task show NAME" prints the file of one, to
start your own from.` + ui.JSONKeys(taskList{}, "labels are empty where they are open."),
		Example: `  sotto task list`,
		RunE: func(*cobra.Command, []string) error {
			r := &taskList{}
			for _, name := range prompt.Builtins() {
				t, err := prompt.Builtin(name)
				if err != nil {
					return err
				}
				r.Tasks = append(r.Tasks, taskSummary{t.Name, t.Title, t.Kind, t.Labels})
			}
			return p.Emit(r)
		},
	}
}

func (r *taskList) Print(p *ui.Page) {
	t := ui.NewTable("task", "kind", "#labels", "what it is")
	for _, s := range r.Tasks {
		labels := fmt.Sprint(len(s.Labels))
		if len(s.Labels) == 0 {
			labels = "open"
		}
		t.Add(s.Name, string(s.Kind), labels, s.Title)
	}
	p.Table(t)
}

type taskShowResult struct {
	prompt.Task
	File string `json:"file"`
}

func newTaskShowCommand(p *cli.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "The file of a task",
		Long: `Prints the file of a task: redirect that of a built-in one to a file of your own
and change it. With --json, what the task says once defaults are filled in.` + ui.JSONKeys(taskShowResult{}, "file is its text."),
		Example: `  sotto task show agnews > mine.toml
  sotto task show agnews --json`,
		Args: cli.Takes("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			t, file, err := cli.FindDocument(args[0], prompt.Find, prompt.Source)
			if err != nil {
				return err
			}
			return p.Emit(&taskShowResult{t, file})
		},
	}
	cmd.ValidArgsFunction = cli.CompleteTasks
	return cmd
}

func (r *taskShowResult) Print(p *ui.Page) { p.File(r.File) }

func newTaskCheckCommand(p *cli.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check FILE|NAME",
		Short: "What is wrong with a task, or what its prompts look like",
		Long: `Reads a task and reports everything wrong with it, where, and what to do
(exit code 2), or shows its two prompts on made-up values: the one that texts
are written by, and the one that questions are answered by. Only the task is
read.

Warnings are about tasks that can be used and may not do what is meant.` + ui.JSONKeys(taskCheckResult{}),
		Example: `  sotto task check mine.toml
  sotto task check agnews`,
		Args: cli.Takes("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return runTaskCheck(p, args[0]) },
	}
	cmd.ValidArgsFunction = cli.CompleteTasks
	return cmd
}

type taskCheckResult struct {
	Name       string           `json:"name"`
	OK         bool             `json:"ok"`
	Problems   []prompt.Problem `json:"problems"`
	Generation string           `json:"generation_prompt,omitempty"`
	Answer     string           `json:"answer_prompt,omitempty"`

	task prompt.Task
}

func runTaskCheck(p *cli.Program, ref string) error {
	data, err := prompt.Source(ref)
	if err != nil {
		return cli.DocumentError(err)
	}
	t, found := prompt.Examine(prompt.NameOf(ref), data)
	r := &taskCheckResult{Name: t.Name, OK: document.Valid(found), Problems: append([]prompt.Problem{}, found...), task: t}
	if r.OK {
		r.Generation, r.Answer = t.MadeUpPrompts()
	}
	return p.Conclusion(ref, r.OK, r)
}

func (r *taskCheckResult) Print(p *ui.Page) {
	p.Problems(r.Problems)
	if !r.OK {
		return
	}
	if len(r.Problems) > 0 {
		p.Line("")
	}
	t := r.task
	labels := strings.Join(t.Labels, ", ")
	if t.Open() && t.Kind != prompt.Generate {
		labels = "open"
	}
	columns := t.Text + ", " + t.Label
	if t.Kind == prompt.Generate {
		columns = t.Label + ", " + t.Text
	}
	p.Head("%s", r.Name)
	p.Facts(
		"title", t.Title,
		"kind", string(t.Kind),
		"columns", columns,
		"labels", labels,
		"conditions", strings.Join(firstLines(t.Conditions), "; "),
		"texts", fmt.Sprintf("%d to %d tokens, cut before %s", t.Limits.MinTokens, t.Limits.MaxTokens, quotedList(t.Stop)),
		"records", fmt.Sprintf("their first %d tokens", t.Limits.RecordTokens),
		"demonstrations", fmt.Sprint(t.Limits.Shots),
	)
	p.Block("the prompt that texts are written by, on made-up values", r.Generation)
	p.Block("the prompt that questions are answered by, on made-up values", r.Answer)
}

func quotedList(list []string) string {
	q := make([]string, len(list))
	for i, s := range list {
		q[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(q, " or ")
}

// firstLines shortens conditions, which may be whole dialogues.
func firstLines(list []string) []string {
	short := make([]string, len(list))
	for i, s := range list {
		first, _, more := strings.Cut(s, "\n")
		if short[i] = first; more {
			short[i] += " …"
		}
	}
	return short
}
