package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/serve/jobs"
	"github.com/sotto-dp/sotto/cmd/internal/serve/runs"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/private/folder"
	"github.com/sotto-dp/sotto/internal/rows/convert"
	"github.com/sotto-dp/sotto/internal/ui"
)

// Parts of results that everybody may see who may see jobs: of runs with a guarantee what they
// release and what it costs, and of others, where all data is public, what they measure. Warnings,
// places, and what depends on who was drawn are in neither.
var (
	releasedParts = strings.Fields(`private event epsilon delta adjacency unit guarantee drawn charge files method claim count_epsilon discover_epsilon
		ending ending_epsilon texts chosen model worth model_tokens_planned schema profiles rows keep_probability metric task asked size noise_scale
		value low high comparisons`)
	measuredParts = strings.Fields(`metric value low high n task model how calibrated rows comparisons rehearsal items
		gains method epsilon delta chosen texts`)
)

// Plan adds to a job the plan that its worker would make here and now. No record is read.
func Plan(ctx context.Context, find Find, w *jobs.Work) error {
	c, err := Read(find, *w)
	if err != nil || !c.Charges() {
		return err
	}
	out, err := os.MkdirTemp("", "sotto-plan-")
	if err != nil {
		return fmt.Errorf("make a folder to plan in: %w", err)
	}
	defer func() { _ = os.RemoveAll(out) }() // it is empty
	var plan sotto.Approval
	if err := c.run(ctx, out, &plan); !errors.Is(err, sotto.ErrUnapproved) {
		return cmp.Or(err, errors.New("the verb has no plan to approve"))
	}
	w.Approval = &plan
	return nil
}

// CarryOut carries out a job with its result in a folder. as is the data set that an upload was assigned
// to, if the job reads one.
func CarryOut(ctx context.Context, find Find, w jobs.Work, out, as string) error {
	c, err := Read(find, w)
	if err != nil {
		return err
	}
	if c.Charges() && (w.Approval == nil || len(w.Approval.Plan) == 0) {
		return ui.Usage("the job has no plan that somebody approved: add it again")
	}
	if as != "" {
		if err := c.Command.Flags().Set("as", as); err != nil {
			return err
		}
	}
	return c.run(ctx, out, w.Approval)
}

// Command is what a worker runs for a job of a store: a program, self, that calls [CarryOut].
func Command(ctx context.Context, find Find, self string, s *store.Store, j *store.Job, place string) (jobs.Command, error) {
	w, err := jobs.ReadWork(j.Work)
	if err != nil {
		return jobs.Command{}, err
	}
	c, err := Read(find, w)
	if err != nil {
		return jobs.Command{}, err
	}
	upload, err := c.upload(j.Dir)
	if err != nil {
		return jobs.Command{}, err
	}
	out := jobs.Command{Args: []string{self, "job", "carry-out", "--json", "--out", place}, Input: j.Work}
	if upload != "" {
		as, err := runs.Assigned(ctx, s, upload)
		if err != nil {
			return jobs.Command{}, err
		}
		out.Args = append(out.Args, "--as="+as)
	}
	switch {
	case c.Charges():
		out.Published = releasedParts
	case j.Open:
		out.Published = measuredParts
	}
	return out, nil
}

// upload is the file of the upload that a job in a folder reads; "" for none.
func (c *Call) upload(dir string) (file string, err error) {
	c.Command.Flags().VisitAll(func(f *pflag.Flag) {
		path, _ := convert.Split(f.Value.String())
		if !given(f) || !folder.IsSealed(path) {
			return
		}
		if f.Name != "data" || file != "" {
			err = ui.Usage("a job reads an upload with --data, and one alone")
		}
		if file = path; !filepath.IsAbs(path) {
			file = filepath.Join(dir, path)
		}
	})
	return file, err
}
