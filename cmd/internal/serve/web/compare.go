package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/release"
)

func (d *Dashboard) compareRoutes() []route {
	return []route{{"GET /compare", store.Viewer, d.comparePage}}
}

// comparedRelease is a release with what it cost and what it was measured to be worth.
type comparedRelease struct {
	runView
	Method   string
	Epsilon  float64
	Examples int
	Worth    *release.Worth
}

// Percent and Interval are what it is worth, in points.
func (c comparedRelease) Percent() string { return fmt.Sprintf("%.0f %%", 100*c.Worth.Value) }

// Interval is the 95 % interval.
func (c comparedRelease) Interval() string {
	return fmt.Sprintf("%.0f to %.0f", 100*c.Worth.Low, 100*c.Worth.High)
}

// measuredRow is a set of demonstrations that an evaluation measured.
type measuredRow struct {
	Run   runView
	Demos string  `json:"demos"`
	Shots int     `json:"shots"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Percent is the value.
func (m measuredRow) Percent() string { return fmt.Sprintf("%.0f %%", 100*m.Value) }

// Interval is the 95 % interval.
func (m measuredRow) Interval() string { return fmt.Sprintf("%.0f to %.0f", 100*m.Low, 100*m.High) }

type compareData struct {
	Releases []comparedRelease
	Measured []measuredRow
	RunRequest
	Sources []Source
	Tasks   []string
	Methods []*PlanSummary
	Problem string
}

func (d *Dashboard) comparePage(v *visit) error {
	jobs, err := d.Store.Jobs(v.ctx(), shownRuns)
	if err != nil {
		return err
	}
	var data compareData
	for _, j := range jobs {
		if j.State == store.Done {
			data.add(j)
		}
	}
	slices.SortStableFunc(data.Releases, func(a, b comparedRelease) int { return worthOf(b) - worthOf(a) })
	if d.Runs != nil && v.account.Role.May(store.Operator) {
		if err := d.compareMethods(v, &data); err != nil {
			return err
		}
	}
	v.render(http.StatusOK, "compare", page{Title: "Compare", Here: "/compare", Data: data})
	return nil
}

// compareMethods plans what the form asks for with every method.
func (d *Dashboard) compareMethods(v *visit, data *compareData) (err error) {
	data.Tasks = d.Runs.Tasks()
	if data.Sources, err = d.Runs.Sources(v.ctx(), v.account); err != nil {
		return err
	}
	data.Sources = slices.DeleteFunc(data.Sources, func(s Source) bool { return s.Uploaded })
	if data.RunRequest, err = requested(v.URL.Query()); err == nil && data.Task != "" {
		if i := slices.IndexFunc(data.Sources, func(s Source) bool { return s.ID == data.Task }); i >= 0 && data.Size < 1 {
			data.Size = data.Sources[i].Size
		}
		if data.Size < 1 {
			err = Refuse("say how many records there are")
		} else {
			request := data.RunRequest
			data.Methods, err = planned(v.ctx(), d, func(ctx context.Context) ([]*PlanSummary, error) { return d.Runs.Compare(ctx, request) })
		}
	}
	if err != nil {
		data.Problem = d.said(err)
	}
	return nil
}

// worthOf orders releases: those that were measured first, the best before.
func worthOf(c comparedRelease) int {
	if c.Worth == nil {
		return -1
	}
	return int(1000 * c.Worth.Value)
}

// add takes what a run has printed.
func (c *compareData) add(j store.Job) {
	var r struct {
		Private bool           `json:"private"`
		Method  string         `json:"method"`
		Epsilon float64        `json:"epsilon"`
		Texts   []any          `json:"texts"`
		Worth   *release.Worth `json:"worth"`
		Rows    []measuredRow  `json:"rows"`
	}
	if len(j.Result) == 0 || json.Unmarshal(j.Result, &r) != nil {
		return
	}
	shown := view(j)
	switch {
	case shown.Verb == "eval":
		for _, row := range r.Rows {
			if row.Demos != "" {
				row.Run, row.Demos = shown, filepath.Base(row.Demos)
				c.Measured = append(c.Measured, row)
			}
		}
	case r.Private && r.Method != "":
		c.Releases = append(c.Releases, comparedRelease{shown, r.Method, r.Epsilon, len(r.Texts), r.Worth})
	}
}
