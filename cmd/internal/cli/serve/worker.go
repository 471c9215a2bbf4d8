package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/serve/jobs"
	"github.com/sotto-dp/sotto/cmd/internal/serve/request"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/sys/userdir"
)

type workerOptions struct {
	dir      string
	parallel int
	lease    time.Duration
	beat     time.Duration
}

// addBeat adds the flag that says when something of a job is shown.
func addBeat(cmd *cobra.Command, to *time.Duration) {
	cmd.Flags().DurationVar(to, "beat", 10*time.Second, "show how a job goes, and that it ended, after 1 to 8 of these, then less and less often")
}

func checkBeat(beat time.Duration) error {
	if beat < time.Second || beat > time.Hour {
		return cli.Usage("--beat is %v, it should be at least a second, and at most an hour", beat)
	}
	return nil
}

func newWorkerCommand(p *cli.Program) *cobra.Command {
	var opt workerOptions
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Carry out jobs of a service",
		Long: `Carries out the jobs of a service's store ("sotto job add") until it is
interrupted, each in a process and a folder of its own. Many workers may share a
store that is a PostgreSQL database: a job has one owner at a time. Workers on
several machines share the folder of jobs, the private folder, keys and ledger
too, so that any of them can continue with what another began.

A worker may die at any moment: after --lease another one repeats the job's
command, which resumes where it stopped and is charged nothing twice. A job that
fails for a reason that may pass is tried five times, after longer and longer
waits; what the budget refuses, or is wrong, is not tried again. On SIGINT or
SIGTERM jobs under way stop and wait for another worker.

How long a step takes depends on who was drawn. So texts, steps and the end of a
job are shown, to those who may see jobs, at beats alone: after 1 to 8 times
--beat, then 10, 12, 14, 16, 20, 24, 28, 32 and so on. A worker takes its next
job after the beat at which the last one ended.

"sotto serve" carries out one job at a time itself, unless --jobs says
otherwise.` + ui.JSONKeys(workedResult{}),
		Example: `  sotto worker
  sotto worker --store postgres://db/sotto --parallel 2`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runWorker(cmd.Context(), p, opt) },
	}
	f := cmd.Flags()
	cli.AddDir(cmd, &opt.dir, "jobs-dir", "the `DIR` with a folder for each job (default: jobs in the user's data directory)")
	f.IntVar(&opt.parallel, "parallel", 1, "carry out this many jobs at once")
	f.DurationVar(&opt.lease, "lease", 30*time.Second, "how long a worker that is silent keeps its job")
	addBeat(cmd, &opt.beat)
	return cmd
}

// workedResult is what is known of a worker when it ends.
type workedResult struct {
	Dir string `json:"jobs_dir"`
}

// Print: all was said while it ran.
func (r *workedResult) Print(*ui.Page) {}

// jobsDir is where jobs have their folders.
func jobsDir(given string) (string, error) {
	if given == "" {
		data, err := userdir.Data()
		if err != nil {
			return "", cli.Usage("there is no place for jobs: use --jobs-dir (%w)", err)
		}
		given = filepath.Join(data, "jobs")
	}
	return filepath.Abs(given)
}

func runWorker(ctx context.Context, p *cli.Program, opt workerOptions) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	if opt.parallel < 1 {
		return cli.Usage("--parallel is %d, it should be positive", opt.parallel)
	}
	if opt.lease < time.Second {
		return cli.Usage("--lease is %v, it should be at least a second", opt.lease)
	}
	if err := checkBeat(opt.beat); err != nil {
		return err
	}
	s, err := openStore(ctx, p, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	work, err := workOptions(p, s, opt)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "carrying out jobs in %s; Ctrl-C ends it\n", work.Dir)
	if err := jobs.Run(ctx, work); err != nil {
		return err
	}
	return p.Emit(&workedResult{work.Dir})
}

// workOptions are those of a worker that is this program.
func workOptions(p *cli.Program, s *store.Store, opt workerOptions) (jobs.Options, error) {
	env, err := jobs.Environment(&p.Places)
	if err != nil {
		return jobs.Options{}, ui.AsUsage(err)
	}
	self := p.Self
	if self == "" {
		if self, err = os.Executable(); err != nil {
			return jobs.Options{}, fmt.Errorf("find the program itself: %w", err)
		}
	}
	dir, err := jobsDir(opt.dir)
	return jobs.Options{
		Store: s, Dir: dir, Env: env, Parallel: opt.parallel, Lease: opt.lease, Beat: opt.beat,
		Command: func(ctx context.Context, j *store.Job, place string) (jobs.Command, error) {
			return request.Command(ctx, (&cli.Program{Root: p.Root}).FindVerb, self, s, j, place)
		},
		Log: slog.New(slog.NewTextHandler(p.Stderr, nil)),
	}, err
}
