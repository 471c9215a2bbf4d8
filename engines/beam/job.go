package beam

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/sotto-dp/sotto/privacy/noise"
)

// Job says where and how a pipeline runs.
type Job struct {
	// Run carries a pipeline out and waits for its end, for example beamx.Run, which
	// takes the runner from the command line. Required.
	Run func(context.Context, *sdk.Pipeline) error
	// Scratch is a folder that this program and all workers can read and write, and
	// nobody else: gs://bucket/folder, or a shared mount. Keys and sealed sums are there
	// while the job runs. "" is a folder of this machine, for runners whose workers are
	// on it.
	Scratch string
	// Pieces is into how many pieces a file is cut at first. 0 leaves it whole, for
	// runners that split while they run, as prism and Dataflow do. For others give a few
	// times as many as there are workers.
	Pieces int
}

// desk is what a job has while it runs.
type desk struct {
	folder string
	own    bool // the folder was made for the job
	job    string
	used   []string
}

var errNoRunner = errors.New("a job needs a runner: set Job.Run, for example to beamx.Run")

// start prepares the scratch folder.
func (j Job) start() (*desk, error) {
	if j.Run == nil {
		return nil, errNoRunner
	}
	d := &desk{folder: j.Scratch, job: rand.Text()}
	if d.folder != "" {
		return d, nil
	}
	folder, err := os.MkdirTemp("", "sotto-beam-")
	if err != nil {
		return nil, fmt.Errorf("make a scratch folder: %w", err)
	}
	d.folder, d.own = folder, true
	return d, nil
}

// path of a file of the job, which its end removes.
func (d *desk) path(what string) string {
	p := join(d.folder, what+"-"+d.job)
	d.used = append(d.used, p)
	return p
}

// share makes a key known to workers, a new one if there is none.
func (d *desk) share(ctx context.Context, key noise.Key) (keyFile, error) {
	if key == (noise.Key{}) {
		fresh, err := noise.NewKey()
		if err != nil {
			return "", err
		}
		defer fresh.Erase()
		key = fresh
	}
	f := keyFile(d.path("key"))
	return f, f.write(ctx, key)
}

// end removes what the job had.
func (d *desk) end(ctx context.Context) error {
	var all error
	for _, path := range d.used {
		if err := removeFile(ctx, path); err != nil {
			all = errors.Join(all, fmt.Errorf("remove %s by hand, it belongs to a job that has ended: %w", path, err))
		}
	}
	if d.own {
		all = errors.Join(all, os.RemoveAll(d.folder))
	}
	return all
}

// run carries a pipeline out.
func (j Job) run(ctx context.Context, p *sdk.Pipeline) error {
	if err := j.Run(ctx, p); err != nil {
		return fmt.Errorf("the pipeline failed: %w", err)
	}
	return nil
}

// piece is how many claims of a part go together at first.
func (j Job) piece(parts []Part, stride int64) int64 {
	steps := int64(1)
	for _, p := range parts {
		steps = max(steps, (p.Blocks+stride-1)/stride)
	}
	n := int64(max(1, j.Pieces))
	return (steps + n - 1) / n
}
