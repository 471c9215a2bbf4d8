package main

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
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/cmd/internal/serve/web"
	"github.com/sotto-dp/sotto/internal/config"
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

// runMaker plans and makes runs for the dashboard, with sources of the configuration and files
// that were uploaded. Forms name both by what people call them, so that nobody reads another
// file by its path.
type runMaker struct {
	p       *program
	store   *store.Store
	model   *sharedModel
	sources map[string]config.Source
	// dir has what was uploaded, and tasks that forms describe. private has the key of uploads.
	dir, private string

	mu sync.Mutex
	// speed of the model, and when it was measured.
	speed plan.Speed
	at    time.Time
}

// stale is how long a measurement counts: others may be at work on the machine now and then.
const stale = 10 * time.Minute

// newRunMaker makes one, with its files beside the folder of jobs.
func (p *program) newRunMaker(ctx context.Context, s *store.Store, m *sharedModel, jobs string) (*runMaker, error) {
	settings, err := p.configured()
	if err != nil {
		return nil, err
	}
	private, err := p.privateDir()
	if err != nil {
		return nil, err
	}
	dir, err := jobsDir(jobs)
	if err != nil {
		return nil, err
	}
	r := &runMaker{p: p, store: s, model: m, sources: settings.Sources, dir: filepath.Join(filepath.Dir(dir), "uploads"), private: private}
	return r, r.sweep(ctx)
}

// Sources implements [web.Runs].
func (r *runMaker) Sources(ctx context.Context, reader store.Account) ([]web.Source, error) {
	var all []web.Source
	for name, s := range r.sources {
		all = append(all, web.Source{ID: "source:" + name, Name: name, Task: shownTask(s.Task), Size: s.Size, Unit: s.Unit, Dataset: cmp.Or(s.Dataset, name)})
	}
	slices.SortFunc(all, func(a, b web.Source) int { return cmp.Compare(a.Name, b.Name) })
	uploads, err := r.store.Uploads(ctx)
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
func (r *runMaker) Tasks() []string { return prompt.Builtins() }

// Methods implements [web.Runs].
func (r *runMaker) Methods() []string { return sotto.Methods() }

// asked is what a request comes to.
type asked struct {
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
func (r *runMaker) find(ctx context.Context, q web.RunRequest) (asked, error) {
	a := asked{RunRequest: q}
	if q.Method != "" && !slices.Contains(sotto.Methods(), q.Method) {
		return a, web.Refuse("there is no such method with a guarantee")
	}
	if q.Size < 1 {
		return a, web.Refuse("say how many records there are: the number is public")
	}
	if name, is := strings.CutPrefix(q.Source, "source:"); is {
		s, known := r.sources[name]
		if !known {
			return a, errNoRecords
		}
		a.data, a.query, a.task, a.dataset, a.Unit = s.Data, s.Query, s.Task, cmp.Or(s.Dataset, name), s.Unit
		return a, nil
	}
	uploads, err := r.store.Uploads(ctx)
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
func (r *runMaker) taskFile(name string, text []byte) string {
	sum := sha256.Sum256(text)
	return filepath.Join(r.dir, slug(cmp.Or(name, "task"))+"-"+hex.EncodeToString(sum[:4])+".toml")
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

// find reads the task.
func (a asked) find() (prompt.Task, error) {
	if a.own == nil {
		return findTask(a.task)
	}
	task, err := prompt.Parse(prompt.NameOf(a.task), a.own)
	if err != nil {
		err = web.Refuse("%v", err) // it is what the form says
	}
	return task, err
}

// request is what the library plans.
func (a asked) request() (plan.Request, error) {
	task, err := a.find()
	if err != nil {
		return plan.Request{}, err
	}
	r := plan.Request{Task: task, Size: a.Size, Epsilon: a.Epsilon, Shots: a.Shots}
	if r.Unit, err = privacy.ParseUnit(a.Unit); err != nil {
		return r, web.Refuse("%v", err)
	}
	if strings.HasPrefix(a.task, tablePrefix) {
		r.Choosing = &plan.Choosing{}
		if err := fromSchema(a.task, &r, 0, nil); err != nil {
			return r, err
		}
	}
	return r, nil
}

// measured is the model, and how fast it is: as it was when a plan was shown, if that is planned again.
func (r *runMaker) measured(ctx context.Context, again bool) (lm.Scorer, plan.Speed, error) {
	opened, err := r.model.open(ctx)
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
		if err := r.model.turns.Take(ctx, "the dashboard"); err != nil {
			return nil, plan.Speed{}, err
		}
		defer r.model.turns.Give()
		speed, err := plan.Measure(ctx, model)
		if err != nil {
			return nil, speed, fmt.Errorf("measure the model: %w", err)
		}
		r.speed, r.at = speed, time.Now()
	}
	return model, r.speed, nil
}

// planWith plans with some methods.
func (r *runMaker) planWith(ctx context.Context, q web.RunRequest, methods []string) ([]*web.Planned, error) {
	a, err := r.find(ctx, q)
	if err != nil {
		return nil, err
	}
	return r.plans(ctx, a, methods)
}

func (r *runMaker) plans(ctx context.Context, a asked, methods []string) ([]*web.Planned, error) {
	model, speed, err := r.measured(ctx, a.Approved != "")
	if err != nil {
		return nil, err
	}
	request, err := a.request()
	if err != nil {
		return nil, err
	}
	client, err := r.p.client(r.model.spec)
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
	out := make([]*web.Planned, len(found.Rows))
	for i, row := range found.Rows {
		out[i] = &web.Planned{Method: row.Method}
		if row.Err != nil {
			out[i].Problem = "It cannot be planned with these settings."
			if wrong, ok := errors.AsType[*plan.InputError](row.Err); ok {
				out[i].Problem = wrong.Error()
			}
			continue
		}
		cost := row.Plan.Cost(found.Shape, speed)
		*out[i] = web.Planned{
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
func (r *runMaker) Plan(ctx context.Context, q web.RunRequest) (*web.Planned, error) {
	all, err := r.planWith(ctx, q, []string{cmp.Or(q.Method, methodChoose)})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Compare implements [web.Runs].
func (r *runMaker) Compare(ctx context.Context, q web.RunRequest) ([]*web.Planned, error) {
	if strings.HasPrefix(q.Task, "source:") {
		q.Source = q.Task
		return r.planWith(ctx, q, sotto.Methods())
	}
	if !slices.Contains(prompt.Builtins(), q.Task) {
		return nil, web.Refuse("there is no such task")
	}
	return r.plans(ctx, asked{RunRequest: q, task: q.Task}, sotto.Methods())
}

// Job implements [web.Runs].
func (r *runMaker) Job(ctx context.Context, q web.RunRequest) (store.Job, error) {
	a, err := r.find(ctx, q)
	if err != nil {
		return store.Job{}, err
	}
	if a.waits {
		return store.Job{}, errUnassigned
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
		if err := errors.Join(os.MkdirAll(r.dir, 0o700), durable.WriteFile(a.task, a.own, 0o600)); err != nil {
			return store.Job{}, err
		}
	}
	c, _, err := newJobCall(&program{}, []string{"synth"})
	if err != nil {
		return store.Job{}, err
	}
	if err := a.fill(c.request.(*synthOptions)); err != nil {
		return store.Job{}, err
	}
	if err := c.check(); err != nil {
		return store.Job{}, err
	}
	work := c.work()
	work.Approval = &planned.Approval
	j := store.Job{Name: cmp.Or(q.Name, c.title())}
	j.Work, err = work.Encode()
	return j, err
}

// fill is the request of a run, as its job has it. Whether there are records that do not fit what
// somebody wrote into a form is nobody's to know, so that these are left out; and what the ledger does
// not know is for an owner to begin with.
func (a asked) fill(o *synthOptions) error {
	o.onError, o.known = string(record.Skip), !a.By.Role.May(store.Owner)
	o.task, o.data, o.query, o.name = a.task, a.data, a.query, a.dataset
	o.size, o.epsilon = fmt.Sprint(a.Size), number{a.Epsilon, true}
	o.shots = a.Shots
	if a.Method != "" {
		o.method = a.Method
	}
	if o.method == methodChoose {
		o.time = time.Duration(a.Minutes) * time.Minute
	}
	if a.Unit == "" {
		return nil
	}
	return o.unit.Set(a.Unit)
}
