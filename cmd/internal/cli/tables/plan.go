package tables

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/figures"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
)

type tablePlanOptions struct {
	profileFlags
	plot string
}

func newTablePlanCommand(p *cli.Program) *cobra.Command {
	var opt tablePlanOptions
	cmd := &cobra.Command{
		Use:   "plan --schema S --size N --epsilon E",
		Short: "How well perturbed rows and profiles would do at an ε",
		Long: `Plans both ways to use a table at the same ε, and predicts how well each column
will be known, before a row is read: from perturbed rows, the standard error of
the estimated share of a value; from a profile, how far noise moves the mean of
a group, and how many rows more than any other the most frequent value needs to
be found (with probability 95 %). Groups are taken to be equally large.

The guarantees differ: perturbed rows protect each row even from who keeps
the table; a profile needs somebody who is trusted with it.` + ui.JSONKeys(tablePlanResult{}),
		Example: `  sotto table plan --schema adult --size 32561 --epsilon 1 --groups 4
  sotto table plan --schema loans.toml --size 20000 --epsilon 4 --plot errors.svg`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runTablePlan(cmd.Context(), p, opt)
		},
	}
	settings.AddSet(cmd)
	opt.profileFlags.add(cmd, method.Profile, method.Perturbation)
	cmd.Flags().StringVar(&opt.plot, "plot", "", "draw predicted errors against ε into `FILE`.svg")
	cli.Needs(cmd, "schema", "size", "epsilon")
	return cmd
}

type tablePlanResult struct {
	Schema   string           `json:"schema"`
	Epsilon  float64          `json:"epsilon"`
	Delta    float64          `json:"delta"`
	Size     int64            `json:"size"`
	Local    localPlanView    `json:"local"`
	Profile  profilePlanView  `json:"profile"`
	Plot     string           `json:"plot,omitempty"`
	Warnings []string         `json:"warnings,omitempty"`
	plans    *sotto.TablePlan `json:"-"`
}

type localPlanView struct {
	Error string `json:"error,omitempty"`
	*localPlanResult
}

type localPlanResult struct {
	Epsilon   ui.Real           `json:"epsilon"`
	Event     string            `json:"event"`
	Cells     int64             `json:"cells"`
	CellError float64           `json:"cell_error"`
	Columns   []plan.LocalError `json:"columns"`
}

type profilePlanView struct {
	Error string `json:"error,omitempty"`
	*profilePlanResult
}

type profilePlanResult struct {
	Groups  int                 `json:"groups"`
	Rows    float64             `json:"rows"`
	Event   string              `json:"event"`
	Epsilon ui.Real             `json:"epsilon"`
	Noise   global.Noise        `json:"noise"`
	Columns []plan.ProfileError `json:"columns"`
}

func runTablePlan(ctx context.Context, p *cli.Program, opt tablePlanOptions) error {
	request, err := opt.request()
	if err != nil {
		return err
	}
	if err := cli.CheckPlotPath(opt.plot); err != nil {
		return err
	}
	spec, _ := method.Lookup("local")
	local, err := plan.LocalRequest{Schema: request.Schema}.With(ui.SettingValues(opt.Values).For(spec))
	if err != nil {
		return err
	}
	found, err := fault.Await(ctx, func() (*sotto.TablePlan, error) {
		return sotto.PlanTable(sotto.ProfileRequest(request), sotto.PerturbRequest(local))
	})
	if err != nil {
		return err
	}
	r := newTablePlanResult(found, request)
	if opt.plot != "" {
		if err := figures.Table(ctx, sotto.ProfileRequest(request), sotto.PerturbRequest(local), opt.plot); err != nil {
			return err
		}
		r.Plot = opt.plot
	}
	return p.Warned(r, r.Warnings)
}

func newTablePlanResult(found *sotto.TablePlan, request plan.ProfileRequest) *tablePlanResult {
	r := &tablePlanResult{Schema: request.Schema.Name, Epsilon: request.Epsilon, Delta: request.Delta, Size: request.Size, plans: found}
	if found.LocalErr != nil {
		r.Local.Error = found.LocalErr.Error()
	} else {
		l := found.Local
		r.Local.localPlanResult = &localPlanResult{ui.Real(l.Epsilon), l.Event().String(), l.Cells(), l.CellError(), l.Errors()}
		r.Warnings = append(r.Warnings, about("perturbed rows", l.Warnings())...)
	}
	if found.ProfileErr != nil {
		r.Profile.Error = found.ProfileErr.Error()
	} else {
		q := found.Profile
		r.Delta = q.Delta
		r.Profile.profilePlanResult = &profilePlanResult{
			max(1, q.Schema.GroupCount(q.Settings.Groups)), q.Rows(), q.Event().String(), ui.Real(q.Epsilon), q.Settings.WithDefaults().Noise, q.Errors(q.Rows()),
		}
		r.Warnings = append(r.Warnings, about("profile", q.Warnings())...)
	}
	return r
}

func about(what string, warnings []string) []string {
	var out []string
	for _, w := range warnings {
		out = append(out, what+": "+w)
	}
	return out
}

func (r *tablePlanResult) Print(p *ui.Page) {
	p.Head("%s at ε = %s, %s rows: predicted before any is read", r.Schema, ui.Whole(r.Epsilon), ui.Thousands(r.Size))
	t := ui.NewTable("column", "#kept", "#share ±", "profile of a group")
	for i, c := range r.columns() {
		kept, share, profile := "–", "–", "–"
		if l := r.Local.localPlanResult; l != nil {
			kept, share = fmt.Sprintf("%.1f %%", 100*l.Columns[i].Keep), fmt.Sprintf("%.2g %%", 100*l.Columns[i].Even)
		}
		if q := r.Profile.profilePlanResult; q != nil {
			profile = foretold(q.Columns[i], q.Rows)
		}
		t.Add(c, kept, share, profile)
	}
	p.Table(t)
	p.Line("")
	local, profile := "perturbed rows: "+r.Local.Error, "profile: "+r.Profile.Error
	if l := r.Local.localPlanResult; l != nil {
		local = fmt.Sprintf("ε of a row %s, replace-one: each value is kept or exchanged by itself; %s combinations of values", ui.Whole(float64(l.Epsilon)), ui.Thousands(l.Cells))
	}
	if q := r.Profile.profilePlanResult; q != nil {
		profile = fmt.Sprintf("ε %s, %s: %d groups of about %.0f rows, %s noise", ui.Whole(float64(q.Epsilon)), r.plans.Profile.Adjacency(), q.Groups, q.Rows, q.Noise)
	}
	p.Facts("perturb", local, "profile", profile, "plot", r.Plot)
}

func (r *tablePlanResult) columns() []string {
	var names []string
	if l := r.Local.localPlanResult; l != nil {
		for _, c := range l.Columns {
			names = append(names, c.Column)
		}
		return names
	}
	if q := r.Profile.profilePlanResult; q != nil {
		for _, c := range q.Columns {
			names = append(names, c.Column)
		}
	}
	return names
}

// foretold says what is expected of a column in a profile.
func foretold(e plan.ProfileError, rows float64) string {
	switch e.Statistic {
	case global.Given:
		return "given by the group"
	case global.Skip:
		return "not asked"
	case global.Mean, global.Moments:
		return fmt.Sprintf("mean ± %s", ui.Nearest(e.Mean))
	case global.Quantiles:
		return fmt.Sprintf("quantiles within %.0f rows of %.0f", e.Rank, rows)
	}
	return fmt.Sprintf("most frequent value if ahead by %.0f of %.0f rows", math.Ceil(e.Margin), rows)
}
