package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/serve/jobs"
	"github.com/sotto-dp/sotto/cmd/internal/serve/request"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/ui"
)

func newJobCommand(p *cli.Program) *cobra.Command {
	group := cli.NewGroup("job", "Runs that workers carry out, now, later or again and again",
		`Keeps the jobs of a service: runs that "sotto worker" or "sotto serve" carries
out: synth, choose, learn, answer with a file of questions, table profile, table
perturb, eval, eval private or rehearse. A job is planned when it is added, and
what is carried out is that plan, or nothing. It has a folder of its own in
place of --out, and is charged once however often a worker dies over it.`,
		`  sotto job add synth --task tickets.toml --data tickets.jsonl --size 20000 --epsilon 1
  sotto job add --cron '0 3 * * 1' --name weekly choose --task tickets.toml --data tickets.jsonl --size 20000 --epsilon 0.2 --from demos
  sotto job list
  sotto job show 3fq2kx9a0b1c --wait
  sotto job cancel 3fq2kx9a0b1c
  sotto job retry 3fq2kx9a0b1c
  sotto job unschedule weekly`,
		newJobAddCommand(p),
		newJobListCommand(p),
		newJobShowCommand(p),
		newJobCancelCommand(p),
		newJobRetryCommand(p),
		newJobUnscheduleCommand(p),
	)
	group.AddCommand(newJobCarryOutCommand(p))
	return group
}

type jobOptions struct {
	name     string
	priority int64
	at, cron string
	public   bool
}

func newJobAddCommand(p *cli.Program) *cobra.Command {
	var opt jobOptions
	cmd := &cobra.Command{
		Use:   "add [--priority N] [--at TIME | --cron WHEN --name NAME] VERB …",
		Short: "Add a job, or a schedule of jobs",
		Long: `Adds a job: VERB and all that follows is the command, as it would be typed,
without --out. Flags of this verb come before it. Relative paths begin here.

What the verb would do is planned now, with the model of this machine where the
plan depends on it. No record is read; "sotto job show" says what it charges. A
worker plans again: if that comes to another charge or other settings, since the
program, the model or a file has changed, the job fails and nothing is charged.
So a job has no --pool-model and no reword, whose texts come first.

--cron makes a schedule in place of a job: "0 3 * * 1" is Mondays at 3:00 UTC,
@daily every midnight. Each time is a job with a folder and a charge of its own;
what the budget does not allow then is refused. A moment that passes while no
worker is there is made up for once.

The model is the worker's, or one in its program that --model names. Of eval
and rehearse, whose results are exact and not charged, the service shows nothing
unless --public says that their data is public.` + ui.JSONKeys(jobsResult{}),
		Example: `  sotto job add synth --task tickets.toml --data tickets.jsonl --size 20000 --epsilon 1
  sotto job add --priority 10 answer --task tickets.toml --data tickets.jsonl --size 20000 --epsilon 0.1 --inputs questions.txt
  sotto job add --cron @weekly --name fresh choose --task tickets.toml --data tickets.jsonl --size 20000 --epsilon 0.2 --from demos`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runJobAdd(cmd.Context(), p, opt, args) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVar(&opt.name, "name", "", "what people call it (default: the verb and what it is about)")
	f.Int64Var(&opt.priority, "priority", 0, "jobs with more come first, from -1000 to 1000")
	f.BoolVar(&opt.public, "public", false, "eval, rehearse: all data is public, so that the service may show what is measured")
	f.StringVar(&opt.at, "at", "", "begin it at this `TIME` or later, such as 2030-01-31T03:00:00Z")
	f.StringVar(&opt.cron, "cron", "", "make a schedule, which adds a job `WHEN` minute, hour, day, month and weekday are so")
	return cmd
}

func runJobAdd(ctx context.Context, p *cli.Program, opt jobOptions, args []string) error {
	// What follows the verb is the job's, except for how this verb prints.
	if i := slices.Index(args, "--json"); i >= 0 {
		args, p.JSON = slices.Delete(slices.Clone(args), i, i+1), true
	}
	if len(args) == 0 {
		return request.ErrNoVerb()
	}
	call, err := request.Parse((&cli.Program{Root: p.Root}).FindVerb, args)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory, where the job's paths begin: %w", err)
	}
	j := store.Job{Name: cmp.Or(opt.name, call.Title()), Dir: dir, Priority: opt.priority, Open: opt.public}
	switch {
	case opt.at != "" && opt.cron != "":
		return cli.Usage("--at and --cron exclude each other: a job has a time, and a schedule many")
	case opt.cron != "" && opt.name == "":
		return cli.Usage("--cron needs --name, by which the schedule can be changed and ended")
	case opt.at != "":
		if j.Due, err = time.Parse(time.RFC3339, opt.at); err != nil {
			return cli.Usage("--at is %q, it should be a time such as 2030-01-31T03:00:00Z", opt.at)
		}
	}
	work := call.Work()
	silent := &cli.Program{Root: p.Root, Terminal: ui.Terminal{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: p.Stderr}, Places: p.Places}
	if err := request.Plan(ctx, silent.FindVerb, &work); err != nil {
		return err
	}
	if j.Work, err = work.Encode(); err != nil {
		return err
	}
	return withStore(ctx, p, true, func(s *store.Store) (ui.Result, error) {
		if opt.cron != "" {
			made, err := s.SetSchedule(ctx, actor(), store.Schedule{Name: opt.name, Cron: opt.cron, Work: j.Work, Dir: dir, Priority: opt.priority, Open: opt.public})
			if err != nil {
				return nil, ui.AsUsage(err)
			}
			return &jobsResult{Jobs: []store.Job{}, Schedules: []store.Schedule{made}, headline: "the schedule " + made.Name + ", due next at " + made.Next.Format(time.RFC3339)}, nil
		}
		made, err := s.AddJob(ctx, actor(), j)
		if err != nil {
			return nil, ui.AsUsage(err)
		}
		return &jobsResult{Jobs: []store.Job{made}, headline: "job " + made.ID + " waits for a worker (sotto worker, or sotto serve)"}, nil
	})
}

// jobsResult lists jobs and schedules.
type jobsResult struct {
	Jobs      []store.Job      `json:"jobs"`
	Schedules []store.Schedule `json:"schedules,omitempty"`

	headline string
}

func (r *jobsResult) Print(p *ui.Page) {
	if r.headline != "" {
		p.Line("%s\n", r.headline)
	}
	if len(r.Jobs)+len(r.Schedules) == 0 {
		p.Line("there are no jobs: sotto job add makes one")
	}
	if len(r.Jobs) > 0 {
		t := ui.NewTable("job", "state", "what", "priority", "added", "by", "at")
		for _, j := range r.Jobs {
			t.Add(j.ID, string(j.State)+ui.If(j.Cancelling && !j.State.Ended(), ", to be cancelled"), ui.Cut(ui.Visible(j.Name), 44), fmt.Sprint(j.Priority), cli.Date(j.Created), string(j.By), jobAt(j))
		}
		p.Table(t)
	}
	if len(r.Schedules) > 0 {
		t := ui.NewTable("schedule", "when (UTC)", "next", "what")
		for _, c := range r.Schedules {
			t.Add(c.Name, c.Cron, c.Next.Format("2006-01-02 15:04"), ui.Cut(ui.Visible(requestLine(c.Work)), 60))
		}
		p.Line("")
		p.Table(t)
	}
}

// requestLine is a job's request in a line.
func requestLine(work json.RawMessage) string {
	w, err := jobs.ReadWork(work)
	if err != nil {
		return err.Error()
	}
	parts := []string{w.Verb}
	for _, name := range slices.Sorted(maps.Keys(w.Request)) {
		parts = append(parts, name+" "+strings.Trim(string(w.Request[name]), `"`))
	}
	return strings.Join(parts, ", ")
}

// charges is what a job's plan charges; "" for nothing.
func charges(work json.RawMessage) string {
	w, err := jobs.ReadWork(work)
	if err != nil || w.Approval == nil {
		return ""
	}
	return w.Approval.Event
}

// withoutPlan is a job's work for a list, in which plans would be most of the text.
func withoutPlan(work json.RawMessage) json.RawMessage {
	w, err := jobs.ReadWork(work)
	if err != nil || w.Approval == nil {
		return work
	}
	w.Approval.Plan = nil
	return jobs.Quote(w)
}

// jobAt says in a few words how far a job is.
func jobAt(j store.Job) string {
	var at struct {
		Event                                           string
		Done, Texts, Round, Rounds, Question, Questions int64
	}
	switch {
	case j.State == store.Failed:
		return ui.Cut(ui.Visible(j.Error), 60)
	case j.State != store.Running || json.Unmarshal(j.Progress, &at) != nil:
		return ""
	case at.Rounds > 0:
		return fmt.Sprintf("round %d of %d", at.Round, at.Rounds)
	case at.Questions > 0:
		return fmt.Sprintf("answer %d of %d", at.Question, at.Questions)
	case at.Texts > 0:
		return fmt.Sprintf("%d of %d texts", at.Done, at.Texts)
	}
	return at.Event
}

func newJobListCommand(p *cli.Program) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "The latest jobs, and all schedules",
		Long:    `Lists the latest jobs, the newest first, and all schedules.` + ui.JSONKeys(jobsResult{}),
		Example: "  sotto job list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return cli.Usage("--limit is %d, it should be positive", limit)
			}
			return withStore(cmd.Context(), p, false, func(s *store.Store) (ui.Result, error) {
				all, err := s.Jobs(cmd.Context(), limit)
				if err != nil {
					return nil, err
				}
				schedules, err := s.Schedules(cmd.Context())
				for i := range all {
					all[i].Work = withoutPlan(all[i].Work)
				}
				for i := range schedules {
					schedules[i].Work = withoutPlan(schedules[i].Work)
				}
				return &jobsResult{Jobs: append([]store.Job{}, all...), Schedules: schedules}, err
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "how many jobs to list at most")
	return cmd
}

// jobResult is all about a job.
type jobResult struct {
	store.Job
	// Folder has what it made, Events what happened to it, and Printed is why it failed, if the
	// folder can be read here.
	Folder  string           `json:"folder,omitempty"`
	Printed string           `json:"printed,omitempty"`
	Events  []store.JobEvent `json:"events"`
}

func (r *jobResult) Print(p *ui.Page) {
	p.Head("job %s, %s: %s", r.ID, ui.Visible(r.Name), r.State)
	p.Facts(
		"asked", ui.Visible(requestLine(r.Work)),
		"charges", charges(r.Work),
		"at", ui.If(!r.State.Ended(), jobAt(r.Job)),
		"folder", r.Folder,
		"failed", ui.Visible(r.Error),
		"printed", ui.Visible(r.Printed),
		"result", ui.Cut(ui.Visible(string(r.Result)), 400),
	)
	p.Line("")
	t := ui.NewTable("when", "what", "")
	for _, e := range r.Events {
		t.Add(e.At.Format("2006-01-02 15:04:05"), e.Event, ui.Cut(ui.Visible(e.Detail), 60))
	}
	p.Table(t)
}

func jobShown(ctx context.Context, s *store.Store, id string) (*jobResult, error) {
	j, err := s.Job(ctx, id)
	if err != nil {
		return nil, ui.AsUsage(err)
	}
	events, err := s.JobEvents(ctx, id)
	r := &jobResult{Job: j, Folder: j.Place, Events: events}
	if j.State == store.Failed {
		r.Printed = jobs.Failure(j.Place)
	}
	return r, err
}

func newJobShowCommand(p *cli.Program) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "show JOB",
		Short: "One job: how it goes, what happened to it, and its result",
		Long: `Shows a job, as it was at its last beat ("sotto worker --help"). The folder has
what it made, under out.` + ui.JSONKeys(jobResult{}),
		Example: "  sotto job show 3fq2kx9a0b1c --wait",
		Args:    cli.Takes("JOB"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd.Context(), p, false, func(s *store.Store) (ui.Result, error) {
				for said := ""; ; {
					r, err := jobShown(cmd.Context(), s, args[0])
					if err == nil && r.State == store.Failed {
						// What it said may be about single records: results have none of it.
						if said := jobs.Said(r.Folder); said != "" && said != "sotto: "+r.Printed {
							fmt.Fprintln(p.Stderr, "it said:\n"+ui.Visible(said))
						}
					}
					if err != nil || !wait || r.State.Ended() {
						return r, err
					}
					if now := string(r.State) + " " + jobAt(r.Job); now != said {
						said = now
						fmt.Fprintln(p.Stderr, "job "+r.ID+": "+now)
					}
					select {
					case <-cmd.Context().Done():
						return nil, cmd.Context().Err()
					case <-time.After(500 * time.Millisecond):
					}
				}
			})
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until it has ended, and say how it goes")
	return cmd
}

// newJobChangeCommand makes a verb that changes one job.
func newJobChangeCommand(p *cli.Program, verb, short, long string, change func(*store.Store, context.Context, store.Actor, string) error) *cobra.Command {
	return &cobra.Command{
		Use: verb + " JOB", Short: short, Long: long + ui.JSONKeys(jobResult{}), Example: "  sotto job " + verb + " 3fq2kx9a0b1c", Args: cli.Takes("JOB"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd.Context(), p, false, func(s *store.Store) (ui.Result, error) {
				if err := change(s, cmd.Context(), actor(), args[0]); err != nil {
					return nil, ui.AsUsage(err)
				}
				return jobShown(cmd.Context(), s, args[0])
			})
		},
	}
}

func newJobCancelCommand(p *cli.Program) *cobra.Command {
	return newJobChangeCommand(p, "cancel", "End a job",
		`Ends a job: at once if it waits, and after a beat ("sotto worker --help") if it
is under way. What was charged stays charged, and what is done stays in its
folder: "sotto job retry" resumes from there.`, (*store.Store).CancelJob)
}

func newJobRetryCommand(p *cli.Program) *cobra.Command {
	return newJobChangeCommand(p, "retry", "Continue with a job that failed or was cancelled",
		`Has a worker resume a job that failed or was cancelled, in its folder: what
was charged is not charged again.`, (*store.Store).RetryJob)
}

func newJobUnscheduleCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "unschedule NAME",
		Short:   "End a schedule",
		Long:    `Ends a schedule. Jobs that it made stay.` + ui.JSONKeys(jobsResult{}),
		Example: "  sotto job unschedule weekly",
		Args:    cli.Takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd.Context(), p, false, func(s *store.Store) (ui.Result, error) {
				if err := s.RemoveSchedule(cmd.Context(), actor(), args[0]); err != nil {
					return nil, ui.AsUsage(err)
				}
				return &jobsResult{Jobs: []store.Job{}, headline: "the schedule " + args[0] + " has ended"}, nil
			})
		},
	}
}

// newJobCarryOutCommand is what a worker runs for a job, which comes on standard input.
func newJobCarryOutCommand(p *cli.Program) *cobra.Command {
	var out, as string
	cmd := &cobra.Command{
		Use: "carry-out", Short: "Carry out the job on standard input, for workers", Hidden: true,
		Long: `Carries out a job as the store keeps it, which comes on standard input. Workers
run it in the job's directory.

Keys of --json: those of the job's verb.`,
		Example: "  sotto job carry-out --json --out jobs/3fq2kx9a0b1c",
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := io.ReadAll(p.Stdin)
			if err != nil {
				return fmt.Errorf("read the job: %w", err)
			}
			w, err := jobs.ReadWork(data)
			if err != nil {
				return ui.AsUsage(err)
			}
			return request.CarryOut(cmd.Context(), p.FindVerb, w, out, as)
		},
	}
	cmd.Flags().StringVar(&out, "out", ".", "the job's `DIR`")
	cmd.Flags().StringVar(&as, "as", "", "the `DATASET` that an upload was assigned to")
	return cmd
}
