package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// Runs plans and makes runs. None of its results says where records are.
type Runs interface {
	// Sources are those of the configuration, and uploads that an account may see.
	Sources(ctx context.Context, reader store.Account) ([]Source, error)
	// Tasks and Methods to choose from, the default method first.
	Tasks() []string
	Methods() []string
	// Plan says what a run would do and cost. No record is read.
	Plan(ctx context.Context, r RunRequest) (*PlanSummary, error)
	// Compare plans with every method, for a task, or for the source that is named in its place.
	Compare(ctx context.Context, r RunRequest) ([]*PlanSummary, error)
	// Job is a run as a job that can be added, with its plan; [ErrUnapproved] if that is not the one
	// that the request names.
	Job(ctx context.Context, r RunRequest) (store.Job, error)
	// Upload keeps a file of records, encrypted while it comes in. RemoveUpload removes one.
	Upload(ctx context.Context, by store.Actor, name string, content io.Reader) (store.Upload, error)
	RemoveUpload(ctx context.Context, by store.Account, id string) error
	// Identify returns what the ledger knows the records of an upload by. It reads all of them.
	Identify(ctx context.Context, u store.Upload) (ledger.Identity, error)
}

// Source is where records of a run come from, without where that is.
type Source struct {
	// ID names it in forms, and Name is what people see.
	ID, Name string
	// Uploaded: somebody sent it. The rest is then not known. Waits: owners have not said yet
	// whose records it holds, so that no run can use it.
	Uploaded, Waits bool
	Task            string
	Size            int64
	Unit            string
	// Dataset is its name or fingerprint in the ledger, if that is known.
	Dataset string
}

// OwnTask is the task that a form describes itself.
const OwnTask = "own"

// RunRequest is a run that somebody asks for.
type RunRequest struct {
	Source, Task, Method string
	Size                 int64
	Epsilon              float64
	Shots, Minutes       int
	Name, Unit           string
	TextColumn           string
	LabelColumn          string
	Labels               []string
	Instruction          string
	// Approved is the plan that the page showed when somebody started the run.
	Approved string
	// By is anyone who asks. Owners may give a source that the ledger does not know its first budget.
	By store.Account
}

// ErrUnapproved is about a run whose plan is not the one that was shown.
var ErrUnapproved = Refuse("the plan is another now than the one that was shown: look at it, and start the run again")

// PlanSummary is what a run would do and cost.
type PlanSummary struct {
	Method string
	// Approval holds the plan for a job, and ID is by what the form names it.
	Approval sotto.Approval
	ID       string
	// Problem: it cannot be done, and the rest is empty.
	Problem string
	// Noise, Draws, Work and Time in a few words, and the guarantee and what the prompt is likely
	// to be worth in sentences.
	Noise, Draws, Work, Time string
	Guarantee, Forecast      string
	Warnings                 []string
	Epsilon                  float64
}

func (d *Dashboard) newRunRoutes() []route {
	return []route{
		{"GET /runs/new", store.Operator, d.newRunPage},
		{"POST /runs", store.Operator, d.addRun},
	}
}

// newRunData is what the page for a new run shows.
type newRunData struct {
	RunRequest
	Sources []Source
	Tasks   []string
	Methods []string
	// Chosen is the source that was chosen.
	Chosen  *Source
	Planned *PlanSummary
	// Left is what the budget of its data set has left, if it has one.
	Left []budgetBalance
}

// budgetBalance is what a budget has left, and whether the run fits.
type budgetBalance struct {
	Budget string
	Left   float64
	Fits   bool
}

// Own reports whether the form describes its task itself.
func (n newRunData) Own() bool { return n.Task == OwnTask }

// LabelLines has a label a line.
func (n newRunData) LabelLines() string { return strings.Join(n.Labels, "\n") }

var errNoRuns = &problem{http.StatusNotFound, "This service makes no runs: it has no place for them."}

func (d *Dashboard) newRunPage(v *visit) error {
	if d.Runs == nil {
		return errNoRuns
	}
	data := newRunData{Tasks: d.Runs.Tasks(), Methods: d.Runs.Methods()}
	var err error
	if data.Sources, err = d.Runs.Sources(v.ctx(), v.account); err != nil {
		return err
	}
	q := v.URL.Query()
	var bad error
	if data.RunRequest, bad = requested(q); q.Get("source") == "" && len(data.Sources) > 0 {
		data.Source = data.Sources[0].ID
	}
	data.By = v.account
	if i := slices.IndexFunc(data.Sources, func(s Source) bool { return s.ID == data.Source }); i >= 0 {
		data.Chosen = &data.Sources[i]
		data.adopt(q)
	}
	switch {
	case data.Chosen == nil:
	case bad != nil:
		data.Planned = &PlanSummary{Problem: d.said(bad)}
	case data.Size < 1:
		data.Planned = &PlanSummary{Problem: "Say how many records there are: the number is public, and the plan depends on it."}
	default:
		request := data.RunRequest
		if data.Planned, err = planned(v.ctx(), d, func(ctx context.Context) (*PlanSummary, error) { return d.Runs.Plan(ctx, request) }); err != nil {
			data.Planned = &PlanSummary{Problem: d.said(err)}
		}
		data.Left = d.leftOf(v.ctx(), data.Chosen.Dataset, data.Epsilon) // an upload that waits has none
	}
	v.render(http.StatusOK, "newrun", page{Title: "New run", Here: "/runs", Data: data})
	return nil
}

// adopt takes what is known of the source for what the form does not say.
func (n *newRunData) adopt(q url.Values) {
	if n.Chosen.Uploaded {
		if n.Task == "" {
			n.Task = OwnTask
		}
		return
	}
	n.Task, n.Unit = n.Chosen.Task, n.Chosen.Unit
	if q.Get("size") == "" || q.Get("was") != n.Source {
		n.Size = n.Chosen.Size
	}
}

// leftOf is what budgets of a data set have left; nothing if the ledger does not know it.
func (d *Dashboard) leftOf(ctx context.Context, dataset string, epsilon float64) (out []budgetBalance) {
	if dataset == "" {
		return nil
	}
	l, err := d.Ledger(ctx)
	if err != nil {
		return nil
	}
	found, err := l.Show(ctx, dataset)
	if err != nil {
		return nil
	}
	for _, b := range found.Budgets {
		out = append(out, budgetBalance{b.Name, b.Left, b.Open && epsilon <= b.Left})
	}
	return out
}

// Bounds of what is planned: beyond them a plan takes long and says nothing.
const (
	maxRecords = int64(1e12)
	minEpsilon = 1e-6
	maxEpsilon = 1000
)

// requested reads a form. Defaults are those that the page begins with.
func requested(q url.Values) (RunRequest, error) {
	r := RunRequest{
		Source: q.Get("source"), Task: q.Get("task"), Method: q.Get("method"), Epsilon: 1, Name: strings.TrimSpace(q.Get("name")),
		Unit: strings.TrimSpace(q.Get("unit")), TextColumn: strings.TrimSpace(q.Get("text_column")), LabelColumn: strings.TrimSpace(q.Get("label_column")),
		Instruction: strings.TrimSpace(q.Get("instruction")), Approved: q.Get("plan"),
	}
	for line := range strings.Lines(q.Get("labels")) {
		if line = strings.TrimSpace(line); line != "" {
			r.Labels = append(r.Labels, line)
		}
	}
	var all []string
	whole := func(name, what string, to *int64) {
		text := strings.NewReplacer("_", "", ",", "", " ", "").Replace(q.Get(name))
		if text == "" {
			return
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			all = append(all, what+" should be a positive whole number")
		}
		*to = n
	}
	var shots, minutes int64
	whole("size", "the number of records", &r.Size)
	whole("shots", "the number of examples", &shots)
	whole("minutes", "the minutes", &minutes)
	if shots > 1000 || minutes > 10000 {
		all = append(all, "there are too many examples, or minutes")
	}
	if r.Size > maxRecords {
		all, r.Size = append(all, "there are too many records: a plan is for at most 1,000,000,000,000"), 0
	}
	r.Shots, r.Minutes = int(min(shots, 1000)), int(min(minutes, 10000))
	if text := q.Get("epsilon"); text != "" {
		var err error
		switch r.Epsilon, err = strconv.ParseFloat(text, 64); {
		case err != nil || !(r.Epsilon > 0):
			all, r.Epsilon = append(all, "ε should be a positive number, such as 1"), 1
		case r.Epsilon < minEpsilon || r.Epsilon > maxEpsilon:
			all, r.Epsilon = append(all, "ε should be between 0.000001 and 1000"), 1
		}
	}
	if len(all) > 0 {
		return r, Refuse("%s", strings.Join(all, "; "))
	}
	return r, nil
}

func (d *Dashboard) addRun(v *visit) error {
	if d.Runs == nil {
		return errNoRuns
	}
	r, err := requested(v.PostForm)
	if err != nil {
		return d.wrong(err)
	}
	r.By = v.account
	j, err := planned(v.ctx(), d, func(ctx context.Context) (store.Job, error) { return d.Runs.Job(ctx, r) })
	if errors.Is(err, ErrUnapproved) {
		shown := v.PostForm
		shown.Del("token")
		shown.Del("plan")
		shown.Set("said", "replanned")
		v.redirect("/runs/new?" + shown.Encode())
		return nil
	}
	if err != nil {
		return d.wrong(err)
	}
	added, err := d.Store.AddJob(v.ctx(), v.account.Actor(), j)
	if err != nil {
		return d.wrong(ofStore(err))
	}
	v.redirect(place("runs", added.ID) + "?said=added")
	return nil
}
