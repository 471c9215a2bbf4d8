package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/serve/jobs"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
)

func (d *Dashboard) runRoutes() []route {
	return []route{
		{"GET /runs", store.Viewer, d.runsPage},
		{"GET /runs/{id}", store.Viewer, d.runPage},
		{"POST /runs/{id}/cancel", store.Operator, d.cancelRun},
		{"POST /runs/{id}/retry", store.Operator, d.retryRun},
	}
}

// runView is a job as everybody may see it.
type runView struct {
	store.Job
	// Title is its name, or its verb. Verb and Settings are what it was asked, without where
	// records are.
	Title, Verb string
	Settings    [][2]string
	// Step is where it is, Done of All if it counts something.
	Step      string
	Done, All int64
	// certifiedRelease is how many texts it had at its last beat.
	released int
}

// Again and Cancellable say what an operator can do about it.
func (r runView) Again() bool { return r.State == store.Failed || r.State == store.Cancelled }

// Cancellable reports whether somebody can ask for its end.
func (r runView) Cancellable() bool { return !r.State.Ended() && !r.Cancelling }

func views(list []store.Job) []runView {
	all := make([]runView, len(list))
	for i, j := range list {
		all[i] = view(j)
	}
	return all
}

func view(j store.Job) runView {
	r := runView{Job: j}
	if w, err := jobs.ReadWork(j.Work); err == nil {
		r.Verb, r.Settings = w.Verb, w.Shown
	}
	r.Work = nil // it says where records are: no template gets it
	r.Title = cmp.Or(j.Name, r.Verb)
	r.step()
	return r
}

// stepNames are what a worker reports.
var stepNames = map[string]string{
	"reserved": "charged", "counted": "records counted", "labels": "labels found", "text": "writing texts", "round": "records choose",
	"profile": "profiles made", "perturbed": "rows perturbed", "written": "files written", "committed": "release noted in the ledger",
	"certified": "certificate signed", "completed": "complete", "resumed": "continues", "recharged": "charged again",
}

// step finds out where a job was at its last beat.
func (r *runView) step() {
	var p struct {
		Event                                           string
		Done, Texts, Round, Rounds, Question, Questions int64
	}
	if len(r.Progress) == 0 || json.Unmarshal(r.Progress, &p) != nil {
		return
	}
	r.Step, r.released = stepNames[p.Event], int(p.Done)
	switch {
	case p.Texts > 0:
		r.Done, r.All = p.Done, p.Texts
	case p.Rounds > 0:
		r.Done, r.All = p.Round, p.Rounds
	case p.Questions > 0:
		r.Done, r.All = p.Question, p.Questions
	}
}

func (d *Dashboard) runsPage(v *visit) error {
	jobs, err := d.Store.Jobs(v.ctx(), shownRuns)
	if err != nil {
		return err
	}
	schedules, err := d.Store.Schedules(v.ctx())
	if err != nil {
		return err
	}
	// What they ask for says where records are: no template gets it.
	for i := range schedules {
		schedules[i].Work, schedules[i].Dir = nil, ""
	}
	others, err := d.elsewhere(v.ctx(), jobs)
	if err != nil {
		return err
	}
	v.render(200, "runs", page{Title: "Runs", Here: "/runs", Data: struct {
		Runs      []runView
		Elsewhere []chargedRun
		Schedules []store.Schedule
	}{views(jobs), others, schedules}})
	return nil
}

type runData struct {
	runView
	Events  []store.JobEvent
	Release *certifiedRelease
	Texts   []text
	More    int // texts that are not shown
}

func (d *Dashboard) runPage(v *visit) error {
	j, err := d.job(v)
	if err != nil {
		return err
	}
	data := runData{runView: view(j)}
	if data.Events, err = d.Store.JobEvents(v.ctx(), j.ID); err != nil {
		return err
	}
	if j.State != store.Done && j.Place != "" {
		data.Texts, data.More = soFar(j.Place, data.released)
	}
	if j.State == store.Done {
		if data.Release = d.released("run", j.ID, data.Title, j.Place); data.Release != nil && data.Release.OK() {
			data.Texts, data.More = data.Release.texts(maxTexts)
		}
	}
	v.render(200, "run", page{Title: data.Title, Here: "/runs", Data: data})
	return nil
}

// maxTexts is how many texts a page shows.
const maxTexts = 50

// soFar are the first so many texts that a run has released: those of its last beat, since when
// each was done shows how long it took. They were paid for before they were written.
func soFar(place string, released int) (some []text, more int) {
	all, err := sotto.SoFar(filepath.Join(place, "out"))
	if err != nil {
		return nil, 0 // it is being written
	}
	all = all[:max(0, min(len(all), released))]
	for _, t := range all[:min(len(all), maxTexts)] {
		some = append(some, text{{"for", t.Condition}, {"text", t.Text}})
	}
	return some, max(0, len(all)-maxTexts)
}

// job finds the one that a request names.
func (d *Dashboard) job(v *visit) (store.Job, error) {
	j, err := d.Store.Job(v.ctx(), v.PathValue("id"))
	if err != nil && !errors.Is(err, store.ErrStore) {
		return j, errNotFound
	}
	return j, err
}

func (d *Dashboard) cancelRun(v *visit) error { return d.changeRun(v, d.Store.CancelJob, "cancelled") }

func (d *Dashboard) retryRun(v *visit) error { return d.changeRun(v, d.Store.RetryJob, "again") }

func (d *Dashboard) changeRun(v *visit, change jobChange, word string) error {
	j, err := d.job(v)
	if err != nil {
		return err
	}
	if err := change(v.ctx(), v.account.Actor(), j.ID); err != nil {
		return d.wrong(ofStore(err))
	}
	v.redirect(fmt.Sprintf("%s?said=%s", place("runs", j.ID), word))
	return nil
}
