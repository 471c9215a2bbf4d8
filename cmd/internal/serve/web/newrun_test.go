package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/jobs"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/sys/expect"
)

// fakeRuns has a source and uploads, and plans nothing.
type fakeRuns struct {
	store   *store.Store
	content bytes.Buffer
	name    string
	// known is what uploads are known by.
	known map[string]ledger.Identity
}

func (f *fakeRuns) Sources(ctx context.Context, reader store.Account) ([]Source, error) {
	all := []Source{{ID: "source:tickets", Name: "tickets", Task: "tickets", Size: 20000, Dataset: "tickets"}}
	uploads, err := f.store.Uploads(ctx)
	for _, u := range uploads {
		if u.SeenBy(reader) {
			all = append(all, Source{ID: UploadID(u), Name: u.Name, Uploaded: true, Waits: u.State != store.UploadAssigned, Dataset: u.Dataset})
		}
	}
	return all, err
}

func (f *fakeRuns) Tasks() []string   { return []string{"agnews", "trec"} }
func (f *fakeRuns) Methods() []string { return []string{"choose", "clipped"} }

// planID is by what a form names a plan.
func planID(epsilon float64) string { return fmt.Sprint("plan of ", epsilon) }

// work is that of a job, with what everybody may see of it.
func work(asked map[string]string, shown ...[2]string) json.RawMessage {
	w := jobs.Work{Verb: "synth", Request: map[string]json.RawMessage{}, Shown: shown}
	for name, value := range asked {
		w.Request[name] = json.RawMessage(fmt.Sprintf("%q", value))
	}
	data, err := w.Encode()
	if err != nil {
		panic(err)
	}
	return data
}

func (f *fakeRuns) Plan(_ context.Context, r RunRequest) (*PlanSummary, error) {
	if r.Epsilon > 100 {
		return nil, Refuse("that is no privacy")
	}
	return &PlanSummary{
		Method: r.Method, Noise: "c = 3.01 a round", Draws: "9 × 34", Work: "220,000 tokens through the model", Time: "6 min", Epsilon: r.Epsilon,
		Guarantee: fmt.Sprintf("ε ≤ %v at δ = 1e-06 for one of %d records more or less.", r.Epsilon, r.Size),
		Forecast:  "What to expect of the chosen prompt: 4 to 54 points (middle 18) above no examples.",
		ID:        planID(r.Epsilon),
	}, nil
}

func (f *fakeRuns) Compare(ctx context.Context, r RunRequest) ([]*PlanSummary, error) {
	one, err := f.Plan(ctx, r)
	return []*PlanSummary{one, {Method: "mixing", Problem: "it is for tasks that write"}}, err
}

func (f *fakeRuns) Job(_ context.Context, r RunRequest) (store.Job, error) {
	if r.Source != "source:tickets" {
		return store.Job{}, Refuse("there are no such records: choose others")
	}
	if want := planID(r.Epsilon); r.Approved != want {
		return store.Job{}, ErrUnapproved
	}
	return store.Job{Name: r.Name, Work: work(map[string]string{"data": "/private/place/records.jsonl"}, [2]string{"epsilon", fmt.Sprint(r.Epsilon)})}, nil
}

func (f *fakeRuns) Upload(ctx context.Context, by store.Actor, name string, content io.Reader) (store.Upload, error) {
	f.name = name
	n, err := io.Copy(&f.content, content)
	if err != nil {
		return store.Upload{}, err
	}
	return f.store.AddUpload(ctx, by, store.Upload{ID: "one", Name: name, File: "/private/place/one.csv.age", Size: n})
}

func (f *fakeRuns) RemoveUpload(ctx context.Context, by store.Account, id string) error {
	return f.store.RemoveUpload(ctx, by, id)
}

func (f *fakeRuns) Identify(_ context.Context, u store.Upload) (ledger.Identity, error) {
	id, ok := f.known[u.ID]
	if !ok {
		return id, errors.New("/private/place/one.csv.age: cannot be read")
	}
	return id, nil
}

// TestNewRun: the plan follows the form, a run that is started is a job, and what is wrong is said
// before anything is added.
func TestNewRun(t *testing.T) {
	s := newSite(t, nil)
	b := s.signIn(t, "operator-one")
	for query, want := range map[string][]string{
		"": {"of 20000 records", "9 × 34", "6 min", "middle 18", "ε ≤ 1 ", "has ε"},
		"?epsilon=0.25&size=500&was=source%3Atickets&source=source%3Atickets": {"of 500 records", "ε ≤ 0.25 ", "may fit"},
		"?epsilon=50":           {"would be refused"},
		"?epsilon=500":          {"That is no privacy."},
		"?epsilon=none":         {"should be a positive number"},
		"?epsilon=-1":           {"should be a positive number"},
		"?shots=many":           {"should be a positive whole number"},
		"?source=upload%3Anone": {"the plan is here before anything is spent"},
	} {
		a := b.get("/runs/new" + query)
		for _, text := range want {
			if a.status != 200 || !strings.Contains(a.body, text) {
				t.Errorf("%q: %d, no %q in %s", query, a.status, text, a.body)
			}
		}
		if strings.Contains(a.body, "/private/place") {
			t.Errorf("%q shows where records are", query)
		}
	}
	token := b.token("/runs/new")
	before, err := s.Store.Jobs(t.Context(), 100)
	must(t, err)
	for _, wrong := range []url.Values{{"source": {"upload:none"}}, {"source": {"source:tickets"}, "epsilon": {"0"}}} {
		wrong.Set("token", token)
		if a := b.post("/runs", wrong); a.status != http.StatusBadRequest {
			t.Errorf("%v: %d", wrong, a.status)
		}
	}
	// A plan that nobody saw is shown first, with what the form says.
	asked := url.Values{"token": {token}, "source": {"source:tickets"}, "epsilon": {"0.5"}, "name": {"mine"}, "plan": {planID(1)}}
	a := b.post("/runs", asked)
	at := a.header.Get("Location")
	expect.Equal(t, "a.status", a.status, http.StatusSeeOther)
	expect.Prefix(t, "Location", at, "/runs/new?")
	expect.True(t, "no token", !strings.Contains(at, token), at)
	page := b.get(a.header.Get("Location")).body
	for _, want := range []string{"The run was not started", `value="plan of 0.5"`, `value="mine"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
	if now, err := s.Store.Jobs(t.Context(), 100); err != nil || len(now) != len(before) {
		t.Errorf("%d jobs, and %d before: %v", len(now), len(before), err)
	}
	asked.Set("plan", planID(0.5))
	a = b.post("/runs", asked)
	if a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), "/runs/") {
		t.Fatalf("%d %s", a.status, a.body)
	}
	after, err := s.Store.Jobs(t.Context(), 100)
	must(t, err)
	if len(after) != len(before)+1 {
		t.Fatalf("%d jobs, and %d before", len(after), len(before))
	}
	page = b.get(a.header.Get("Location")).body
	expect.Contains(t, "page", page, "mine")
	expect.True(t, "no place of records", !strings.Contains(page, "/private/place"), page)
	expect.Contains(t, "page", page, "waits for a worker")
}

// form is an upload as browsers send it, with the parts in an order.
func form(t *testing.T, parts ...[3]string) (kind string, body *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, p := range parts {
		make := func(name, _ string) (io.Writer, error) { return w.CreateFormField(name) }
		if p[1] != "" {
			make = w.CreateFormFile
		}
		to, err := make(p[0], p[1])
		must(t, err)
		_, err = io.WriteString(to, p[2])
		must(t, err)
	}
	must(t, w.Close())
	return w.FormDataContentType(), &out
}

// TestUpload: a file comes in as it is sent, after the form's token; without one, and for viewers,
// nothing of it is read.
func TestUpload(t *testing.T) {
	s := newSite(t, nil)
	runs := s.Runs.(*fakeRuns)
	operator, viewer := s.signIn(t, "operator-one"), s.signIn(t, "viewer-one")
	token := operator.token("/runs/new")
	send := func(b *browser, parts ...[3]string) answer {
		kind, body := form(t, parts...)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.base+"/uploads", body)
		must(t, err)
		r.Header.Set("Content-Type", kind)
		return b.do(r)
	}
	records := strings.Repeat("a record,of somebody\n", 20000) // more than other forms may have
	for name, a := range map[string]answer{
		"no token":        send(operator, [3]string{"file", "a.csv", records}),
		"another's token": send(operator, [3]string{"token", "", viewer.token("/")}, [3]string{"file", "a.csv", records}),
		"the token last":  send(operator, [3]string{"file", "a.csv", records}, [3]string{"token", "", token}),
		"a viewer":        send(viewer, [3]string{"token", "", viewer.token("/")}, [3]string{"file", "a.csv", records}),
	} {
		if a.status != http.StatusForbidden || runs.content.Len() > 0 {
			t.Errorf("%s: %d, %d bytes", name, a.status, runs.content.Len())
		}
	}
	if a := send(operator, [3]string{"token", "", token}, [3]string{"other", "", "x"}); a.status != http.StatusBadRequest {
		t.Errorf("no file: %d", a.status)
	}
	a := send(operator, [3]string{"token", "", token}, [3]string{"file", "../../etc/tick<b>ets.csv", records})
	expect.Equal(t, "a.status", a.status, http.StatusSeeOther)
	expect.Equal(t, "runs.content.String", runs.content.String(), records)
	expect.Equal(t, "runs.name", runs.name, "tick<b>ets.csv")
	page := operator.get(a.header.Get("Location"))
	expect.Contains(t, "page.body", page.body, "tick&lt;b&gt;ets.csv (uploaded, waits for an owner)")
	expect.Contains(t, "page.body", page.body, "waits for an owner to assign it")
	expect.Contains(t, "page.body", page.body, "Labels, one a line")
	expect.True(t, "no /private/place in page.body", !strings.Contains(page.body, "/private/place"), page.body)
	if a := operator.post("/uploads/one/remove", url.Values{"token": {token}}); a.status != http.StatusSeeOther {
		t.Errorf("%d", a.status)
	}
	if a := operator.post("/uploads/one/remove", url.Values{"token": {token}}); a.status != http.StatusBadRequest {
		t.Errorf("removed twice: %d", a.status)
	}
}

// TestPlayground: a route is asked with its examples and without, and one that answers from
// records is not.
func TestPlayground(t *testing.T) {
	s := newSite(t, nil)
	b := s.signIn(t, "operator-one")
	a := b.get("/playground")
	expect.Equal(t, "a.status", a.status, 200)
	expect.Contains(t, "a.body", a.body, ">tickets<")
	expect.True(t, "no >ask< in a.body", !strings.Contains(a.body, ">ask<"), a.body)
	token := b.token("/playground")
	a = b.post("/playground", url.Values{"token": {token}, "route": {"tickets"}, "question": {"Where <is> it?"}})
	for _, want := range []string{"examples: false", "examples: true", "Where &lt;is&gt; it?"} {
		if a.status != 200 || !strings.Contains(a.body, want) {
			t.Errorf("%d, no %q in %s", a.status, want, a.body)
		}
	}
	for _, wrong := range []url.Values{{"route": {"ask"}, "question": {"a"}}, {"route": {"none"}, "question": {"a"}}, {"route": {"tickets"}, "question": {" "}}} {
		wrong.Set("token", token)
		if a := b.post("/playground", wrong); a.status != http.StatusBadRequest {
			t.Errorf("%v: %d", wrong, a.status)
		}
	}
}

// TestCompare: releases have what they were measured to be worth; methods are planned for
// operators.
func TestCompare(t *testing.T) {
	s := newSite(t, nil)
	b := s.signIn(t, "operator-one")
	a := b.get("/compare?task=agnews&size=1000&epsilon=2")
	for _, want := range []string{"82 %", "74 to 90", "mixing", "it is for tasks that write", "c = 3.01 a round"} {
		if !strings.Contains(a.body, want) {
			t.Errorf("no %q in %s", want, a.body)
		}
	}
	if a := b.get("/compare?task=agnews"); !strings.Contains(a.body, "Say how many records there are.") {
		t.Errorf("%s", a.body)
	}
	a = s.signIn(t, "viewer-one").get("/compare?task=agnews&size=1000")
	if !strings.Contains(a.body, "82 %") || strings.Contains(a.body, "mixing") {
		t.Errorf("%s", a.body)
	}
}

// TestSlowUpload: an upload continues as long as bytes come, beyond the server's limit for requests,
// and one that stands still is cut off.
func TestSlowUpload(t *testing.T) {
	s := newSite(t, nil)
	slow := httptest.NewUnstartedServer(s)
	slow.Config.ReadTimeout = 300 * time.Millisecond
	slow.Start()
	t.Cleanup(slow.Close)
	s.server = slow
	b := s.signIn(t, "operator-one")
	token := b.token("/runs/new")
	send := func(pause time.Duration) (int, error) {
		kind, whole := form(t, [3]string{"token", "", token}, [3]string{"file", "a.csv", strings.Repeat("a record\n", 100)})
		in, out := io.Pipe()
		go func() {
			for whole.Len() > 0 {
				if _, err := out.Write(whole.Next(200)); err != nil {
					return
				}
				time.Sleep(pause)
			}
			_ = out.Close() // it has no error
		}()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.base+"/uploads", in)
		must(t, err)
		r.Header.Set("Content-Type", kind)
		response, err := b.Do(r)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	s.uploadTime = 20 * time.Second
	if status, err := send(150 * time.Millisecond); status != http.StatusSeeOther {
		t.Errorf("a slow one: %d, %v", status, err)
	}
	s.uploadTime = 50 * time.Millisecond
	if status, _ := send(500 * time.Millisecond); status == http.StatusSeeOther {
		t.Error("one that stands still is waited for")
	}
}
