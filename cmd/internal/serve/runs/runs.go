// Package runs plans and makes runs for the dashboard, from sources of the configuration and files that were
// uploaded. Forms name both by what people call them, so that nobody reads another file by its path.
package runs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/serve"
	"github.com/sotto-dp/sotto/cmd/internal/serve/jobs"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/cmd/internal/serve/web"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/ask"
	"github.com/sotto-dp/sotto/internal/plan/forecast"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/sys/durable"
)

// Options of a [Maker]. All are required.
type Options struct {
	serve.Environment
	Store *store.Store
	// Dir has what was uploaded, and tasks that forms describe. Private has the key of uploads.
	Dir, Private string
	// Check is what a worker does first with a job: it refuses what cannot be asked for. It returns the work as
	// it is stored, and what people call it.
	Check func(jobs.Work) (work jobs.Work, title string, err error)
}

// Maker plans and makes runs.
type Maker struct {
	Options

	mu sync.Mutex
	// speed of the model, and when it was measured.
	speed plan.Speed
	at    time.Time
}

// stale is how long a measurement counts: others may be at work on the machine now and then.
const stale = 10 * time.Minute

// New makes one, and removes what uploads left that were cut off.
func New(ctx context.Context, o Options) (*Maker, error) {
	r := &Maker{Options: o}
	return r, r.sweep(ctx)
}

// Sources implements [web.Runs].
func (r *Maker) Sources(ctx context.Context, reader store.Account) ([]web.Source, error) {
	var all []web.Source
	for name, s := range r.Settings.Sources {
		all = append(all, web.Source{ID: "source:" + name, Name: name, Task: shownTask(s.Task), Size: s.Size, Unit: s.Unit, Dataset: cmp.Or(s.Dataset, name)})
	}
	slices.SortFunc(all, func(a, b web.Source) int { return cmp.Compare(a.Name, b.Name) })
	uploads, err := r.Store.Uploads(ctx)
	for _, u := range uploads {
		if u.SeenBy(reader) {
			all = append(all, web.Source{ID: web.UploadID(u), Name: u.Name, Uploaded: true, Waits: u.State != store.UploadAssigned, Dataset: u.Dataset})
		}
	}
	return all, err
}

// shownTask is what people call a task: not where its file is.
func shownTask(task string) string { return strings.TrimSuffix(filepath.Base(task), ".toml") }

// Tasks implements [web.Runs].
func (r *Maker) Tasks() []string { return prompt.Builtins() }

// Methods implements [web.Runs].
func (r *Maker) Methods() []string { return sotto.Methods() }

// resolvedRequest is a request with what its names stand for.
type resolvedRequest struct {
	web.RunRequest
	data, query, task, dataset string
	// waits: it is of an upload that owners have not assigned.
	waits bool
	// own is the task that the form describes, which a run has in the file that task names.
	own []byte
}

// errNoRecords is also about an upload that is not for the one who asks.
var errNoRecords = web.Refuse("there are no such records: choose others")

// find looks up what a request names.
func (r *Maker) find(ctx context.Context, q web.RunRequest) (resolvedRequest, error) {
	a := resolvedRequest{RunRequest: q}
	if q.Method != "" && !slices.Contains(sotto.Methods(), q.Method) {
		return a, web.Refuse("there is no such method with a guarantee")
	}
	if q.Size < 1 {
		return a, web.Refuse("say how many records there are: the number is public")
	}
	if name, is := strings.CutPrefix(q.Source, "source:"); is {
		s, known := r.Settings.Sources[name]
		if !known {
			return a, errNoRecords
		}
		a.data, a.query, a.task, a.dataset, a.Unit = s.Data, s.Query, s.Task, cmp.Or(s.Dataset, name), s.Unit
		return a, nil
	}
	uploads, err := r.Store.Uploads(ctx)
	if err != nil {
		return a, err
	}
	i := slices.IndexFunc(uploads, func(u store.Upload) bool { return web.UploadID(u) == q.Source })
	if i < 0 {
		return a, errNoRecords
	}
	// Whether any record fits a label shows in whether a run fails: anyone who sent the file knows, and
	// nobody else should find out by describing tasks, except for the owner of the data set that it
	// is. A plan reads no record.
	a.waits = uploads[i].State != store.UploadAssigned
	if !uploads[i].UsableBy(q.By) && !(a.waits && uploads[i].SeenBy(q.By)) {
		return a, errNoRecords
	}
	a.data = uploads[i].File
	switch {
	case q.Task == web.OwnTask:
		a.own, err = describe(q)
		a.task = r.taskFile(q.Name, a.own)
	case slices.Contains(prompt.Builtins(), q.Task):
		a.task = q.Task
	default:
		err = web.Refuse("there is no such task: choose another, or describe your own")
	}
	return a, err
}

// describe is the task that a form describes, as a file has it. It is public.
func describe(q web.RunRequest) ([]byte, error) {
	if len(q.Labels) < 2 {
		return nil, web.Refuse("write down the labels that texts are sorted into, two or more, one a line: they are public")
	}
	// Strings of JSON are strings of TOML.
	quote := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			return `""`
		}
		return string(data)
	}
	instruction := cmp.Or(q.Instruction, "Classify the texts based on whether they are about "+strings.Join(q.Labels, ", ")+".")
	return fmt.Appendf(nil, "title = %s\nkind = \"classify\"\ntext = %s\nlabel = %s\nlabels = %s\n\n[generate]\ninstruction = \"Given a label, write a text that it fits.\"\ncondition = \"Label\"\ntext = \"Text\"\n\n[answer]\ninstruction = %s\ninput = \"Text\"\noutput = \"Answer\"\n",
		quote("Texts of "+cmp.Or(q.Name, "an upload")), quote(cmp.Or(q.TextColumn, "text")), quote(cmp.Or(q.LabelColumn, "label")), quote(q.Labels), quote(instruction)), nil
}

// taskFile is where a task is kept that a form describes.
func (r *Maker) taskFile(name string, text []byte) string {
	sum := sha256.Sum256(text)
	return filepath.Join(r.Dir, slug(cmp.Or(name, "task"))+"-"+hex.EncodeToString(sum[:4])+".toml")
}

// slug makes a name of a file of what people call something.
func slug(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	return strings.Trim(name[:min(len(name), 40)], "-")
}

// request is what the library plans.
func (r *Maker) request(a resolvedRequest) (q plan.Request, err error) {
	q = plan.Request{Size: a.Size, Epsilon: a.Epsilon, Shots: a.Shots}
	if a.own == nil {
		q.Task, err = r.Task(a.task)
	} else if q.Task, err = prompt.Parse(prompt.NameOf(a.task), a.own); err != nil {
		err = web.Refuse("%v", err) // it is what the form says
	}
	if err != nil {
		return q, err
	}
	if q.Unit, err = privacy.ParseUnit(a.Unit); err != nil {
		return q, web.Refuse("%v", err)
	}
	table, err := r.Table(a.task)
	if err == nil && table != nil {
		q.Choosing = &plan.ChooseRequest{}
		q.FromSchema(*table, 0, nil)
	}
	return q, err
}

// measured is the model, and how fast it is: as it was when a plan was shown, if that is planned again.
func (r *Maker) measured(ctx context.Context, again bool) (lm.Scorer, plan.Speed, error) {
	opened, err := r.Model.Open(ctx)
	if err != nil {
		return nil, plan.Speed{}, err
	}
	model, scores := opened.(lm.Scorer)
	if !scores {
		return nil, plan.Speed{}, web.Refuse("the model of the service writes and does not score, so that records cannot use it")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || !again && time.Since(r.at) > stale {
		// Others may be at work with it.
		if err := r.Model.Turns.Take(ctx, "the dashboard"); err != nil {
			return nil, plan.Speed{}, err
		}
		defer r.Model.Turns.Give()
		speed, err := plan.Measure(ctx, model)
		if err != nil {
			return nil, speed, fmt.Errorf("measure the model: %w", err)
		}
		r.speed, r.at = speed, time.Now()
	}
	return model, r.speed, nil
}

// planWith plans with some methods.
func (r *Maker) planWith(ctx context.Context, q web.RunRequest, methods []string) ([]*web.PlanSummary, error) {
	a, err := r.find(ctx, q)
	if err != nil {
		return nil, err
	}
	return r.plans(ctx, a, methods)
}

func (r *Maker) plans(ctx context.Context, a resolvedRequest, methods []string) ([]*web.PlanSummary, error) {
	model, speed, err := r.measured(ctx, a.Approved != "")
	if err != nil {
		return nil, err
	}
	request, err := r.request(a)
	if err != nil {
		return nil, err
	}
	client, err := r.Client(sotto.Options{Model: r.Model.Spec})
	if err != nil {
		return nil, err
	}
	found, err := client.Plan(ctx, sotto.PlanOptions{Request: ask.As[sotto.Request](request), Methods: methods, Model: model, Speed: speed, Time: time.Duration(a.Minutes) * time.Minute})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.speed.Encode = cmp.Or(r.speed.Encode, found.Speed.Encode) // that of the encoder is measured where a plan needs it
	r.mu.Unlock()
	out := make([]*web.PlanSummary, len(found.Rows))
	for i, row := range found.Rows {
		out[i] = &web.PlanSummary{Method: row.Method}
		if row.Err != nil {
			out[i].Problem = "It cannot be planned with these settings."
			if wrong, ok := errors.AsType[*plan.InputError](row.Err); ok {
				out[i].Problem = wrong.Error()
			}
			continue
		}
		cost := row.Plan.Cost(found.Shape, speed)
		*out[i] = web.PlanSummary{
			Method: row.Method, Noise: row.Plan.Noise(), Draws: row.Plan.Draws(), Work: ui.Thousands(int64(cost.Cached.Tokens)) + " tokens through the model",
			Time: ui.Span(cost.Cached.Seconds), Guarantee: row.Sentence(), Warnings: row.Plan.Warnings(), Epsilon: row.Guarantee.Epsilon.Upper,
		}
		if err := out[i].Approval.Check(row.Plan, row.Plan.Event()); !errors.Is(err, sotto.ErrUnapproved) {
			return nil, err
		}
		sum := sha256.Sum256(out[i].Approval.Plan)
		out[i].ID = hex.EncodeToString(sum[:16])
		if row.Plan.Choose == nil {
			continue
		}
		if f, err := forecast.Of(row.Plan, models.NameOf(model.Info())); err != nil {
			out[i].Forecast = sentence(err.Error())
		} else {
			out[i].Forecast = sentence(f.Words())
			if w := f.Warning(); w != "" {
				out[i].Warnings = append(out[i].Warnings, w)
			}
		}
	}
	return out, nil
}

// Plan implements [web.Runs].
func (r *Maker) Plan(ctx context.Context, q web.RunRequest) (*web.PlanSummary, error) {
	all, err := r.planWith(ctx, q, []string{cmp.Or(q.Method, plan.Chooses)})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Compare implements [web.Runs].
func (r *Maker) Compare(ctx context.Context, q web.RunRequest) ([]*web.PlanSummary, error) {
	if strings.HasPrefix(q.Task, "source:") {
		q.Source = q.Task
		return r.planWith(ctx, q, sotto.Methods())
	}
	if !slices.Contains(prompt.Builtins(), q.Task) {
		return nil, web.Refuse("there is no such task")
	}
	return r.plans(ctx, resolvedRequest{RunRequest: q, task: q.Task}, sotto.Methods())
}

// Job implements [web.Runs].
func (r *Maker) Job(ctx context.Context, q web.RunRequest) (store.Job, error) {
	a, err := r.find(ctx, q)
	if err != nil {
		return store.Job{}, err
	}
	if a.waits {
		return store.Job{}, ErrUnassigned
	}
	// What would be refused later is refused now.
	planned, err := r.Plan(ctx, q)
	switch {
	case err != nil:
		return store.Job{}, err
	case planned.Problem != "":
		return store.Job{}, web.Refuse("%s", planned.Problem)
	case planned.ID != q.Approved:
		return store.Job{}, web.ErrUnapproved
	}
	if a.own != nil {
		if err := errors.Join(os.MkdirAll(r.Dir, 0o700), durable.WriteFile(a.task, a.own, 0o600)); err != nil {
			return store.Job{}, err
		}
	}
	work, title, err := r.Check(a.work())
	if err != nil {
		return store.Job{}, err
	}
	work.Approval = &planned.Approval
	j := store.Job{Name: cmp.Or(q.Name, title)}
	j.Work, err = work.Encode()
	return j, err
}

// work is what a job of the request is asked for. Whether there are records that do not fit what
// somebody wrote into a form is nobody's to know, so that these are left out; and what the ledger does
// not know is for an owner to begin with.
func (a resolvedRequest) work() jobs.Work {
	request := map[string]any{
		"task": a.task, "data": a.data, "size": fmt.Sprint(a.Size), "epsilon": a.Epsilon, "on-error": string(record.Skip),
	}
	add := func(name string, value any, given bool) {
		if given {
			request[name] = value
		}
	}
	add("known", true, !a.By.Role.May(store.Owner))
	add("query", a.query, a.query != "")
	add("name", a.dataset, a.dataset != "")
	add("unit", a.Unit, a.Unit != "")
	add("shots", a.Shots, a.Shots != 0)
	chooses := a.Method == "" || a.Method == plan.Chooses
	add("method", a.Method, !chooses)
	add("time", (time.Duration(a.Minutes) * time.Minute).String(), chooses && a.Minutes != 0)
	w := jobs.Work{Verb: "synth", Request: map[string]json.RawMessage{}}
	for name, value := range request {
		w.Request[name] = jobs.Quote(value)
	}
	return w
}

func sentence(clause string) string { return strings.ToUpper(clause[:1]) + clause[1:] + "." }
