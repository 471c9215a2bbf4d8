package sotto_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/pool"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

// host is a server of somebody else's that keeps every byte it receives.
type host struct {
	*httptest.Server
	mu  sync.Mutex
	got []string
	// reply answers a request to write; the status is 200 if it is 0.
	reply func(asked string) (status int, text string)
}

// wrote is how a host answers that does what it is asked.
func wrote(asked string) (int, string) {
	switch {
	case strings.Contains(asked, "instruction of a task"):
		return 0, `{"instruction": "Say which queue it is."}` + "\n" + `{"instruction": "Which queue does this go to?"}`
	case strings.Contains(asked, "These examples work well"):
		_, after, _ := strings.Cut(asked, "These examples work well:")
		return 0, fmt.Sprintf("{\"input\": \"like %x\"}\n{\"input\": \"also %x\"}", len(after), len(after))
	}
	_, label, _ := strings.Cut(asked, `whose output is \"`)
	label, _, _ = strings.Cut(label, `\"`)
	var b strings.Builder
	for i := range 8 {
		fmt.Fprintf(&b, "{\"input\": \"on %s, %d\"}\n", label, i)
	}
	return 0, b.String()
}

func newHost(t *testing.T, reply func(asked string) (int, string)) *host {
	h := &host{reply: reply}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := httputil.DumpRequest(r, true)
		if err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		h.got = append(h.got, string(data))
		h.mu.Unlock()
		switch {
		case r.URL.Path == "/v1/models":
			fmt.Fprint(w, `{"object":"list","data":[{"id":"large","object":"model","owned_by":"someone"}]}`)
		case r.URL.Path == "/v1/chat/completions" && strings.Contains(string(data), `"content":"1"`): // what it can do
			fmt.Fprint(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"1"},"finish_reason":"stop"}]}`)
		case r.URL.Path == "/v1/chat/completions":
			status, text := h.reply(string(data))
			if status != 0 {
				w.WriteHeader(status)
			}
			content, _ := json.Marshal(text) // a string
			fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}]}`, content)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// received are the requests so far, sorted: several come at once.
func (h *host) received() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(slices.Values(h.got))
}

func (h *host) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = nil
}

// pooled is a run in which records choose from what a host writes.
func pooled(t *testing.T, h *host) synthesis {
	o := options(t)
	o.Request = sotto.Request{Task: task(), Size: 200, Epsilon: 4, Tokens: 3, Choosing: &sotto.ChooseRequest{First: 3, Next: 3, Rounds: 3, Records: 8}}
	o.Pool = sotto.Pool{Model: &backend.Spec{URL: h.URL}, Texts: 6}
	return o
}

// TestPlainHostedPool: a host that is not trusted writes what records choose from. All of ε
// chooses, the plan and the certificate say who wrote, and what the host receives is the
// same to the byte whatever the records are and however many.
func TestPlainHostedPool(t *testing.T) {
	h := newHost(t, wrote)
	o := pooled(t, h)
	var said []string
	o.Observe = func(e sotto.Progress) { said = append(said, e.Message) }
	done, err := synthesize(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	first := h.received()
	for _, r := range first {
		if strings.Contains(r, marker) || strings.Contains(r, "200") {
			t.Errorf("the host received %s", r)
		}
	}
	made := done.Plan.Choose.Made
	if made == nil {
		t.Fatalf("made: got none")
	}
	expect.Equal(t, "made.Model", made.Model, "large")
	expect.Min(t, "number of made.Examples", len(made.Examples), 6)
	expect.Len(t, "made.Instructions", made.Instructions, 2)
	if done.Plan.Shots != 0 || done.Plan.WritesFromRecords() {
		t.Errorf("%d texts are written", done.Plan.Shots)
	}
	for _, e := range done.Examples {
		if !slices.Contains(made.Examples, e) {
			t.Errorf("%q is not by the host", e)
		}
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{
		h.URL + " is asked for texts to choose from: it sees the task, and no record",
		"large wrote texts to choose from: ", "large worded the instruction otherwise: 2 usable",
		"no ε is for writing", " are by large, which sees no record",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing says %q:\n%s", want, all)
		}
	}
	trust, err := certificate.LoadTrust(o.client().Keys())
	if err != nil {
		t.Fatal(err)
	}
	report, err := sotto.Verify(o.Out, trust)
	expect.NoError(t, err)
	expect.True(t, "report.OK", report.OK)
	expect.Contains(t, "report.Predicate.Assumptions", strings.Join(report.Predicate.Assumptions, " "), "the model large wrote, too. It was shown the task, and no record")
	// A run that is complete asks nobody.
	h.forget()
	again, err := synthesize(t.Context(), o)
	expect.NoError(t, err)
	expect.True(t, "again.Finished", again.Finished)
	expect.Len(t, "h.received()", h.received(), 0)
	// Other records, and more of them.
	other := pooled(t, h)
	other.Request.Size = 390
	var b strings.Builder
	for i := range 390 {
		fmt.Fprintf(&b, "{\"text\": \"otherwise %d\", \"queue\": \"repairs\", \"who\": \"c%d\"}\n", i*i, i)
	}
	if err := os.WriteFile(other.Source.Location, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := synthesize(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if second := h.received(); !slices.Equal(first, second) {
		t.Errorf("the host can distinguish the records:\n%q\n%q", first, second)
	}
}

// TestPlainHostedPoolGoesOn: a run that was interrupted has the texts that it began with, though
// the host is gone, and one that names another model is refused.
func TestPlainHostedPoolGoesOn(t *testing.T) {
	h := newHost(t, wrote)
	o := pooled(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Observe = func(e sotto.Progress) {
		if e.Kind == sotto.Chose {
			cancel()
		}
	}
	var stopped *sotto.InterruptedError
	if _, err := synthesize(ctx, o); !errors.As(err, &stopped) {
		t.Fatalf("it was not interrupted: %v", err)
	}
	before, err := os.ReadFile(filepath.Join(o.Out, "plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
	o.Observe = nil
	o.Pool.Model = &backend.Spec{URL: h.URL, Model: "another"}
	var folder *sotto.FolderError
	if _, err := synthesize(t.Context(), o); !errors.As(err, &folder) || !strings.Contains(err.Error(), "whose texts are by large") {
		t.Errorf("another model: %v", err)
	}
	o.Pool.Model = &backend.Spec{URL: h.URL}
	done, err := synthesize(t.Context(), o)
	if err != nil || !done.Resumed {
		t.Fatalf("resuming: %v", err)
	}
	if after, err := os.ReadFile(filepath.Join(o.Out, "plan.json")); err != nil || string(after) != string(before) {
		t.Errorf("the plan changed: %v", err)
	}
}

// TestPlainHostedPoolFaults: a host that fails, or writes what cannot be used, ends the run before
// anything is charged or made, and the error says nothing of what it wrote.
func TestPlainHostedPoolFaults(t *testing.T) {
	for name, c := range map[string]struct {
		reply func(string) (int, string)
		want  string
	}{
		"refuses":  {func(string) (int, string) { return http.StatusForbidden, "secret-reply" }, "it could not be asked"},
		"nonsense": {func(string) (int, string) { return 0, "secret-reply: \x00 {{{" }, `none came for the label "billing"`},
		"too few": {func(asked string) (int, string) {
			if strings.Contains(asked, `whose output is \"billing`) {
				return 0, `{"input": "a bill"}`
			}
			return 0, ""
		}, `none came for the label "repairs"`},
		"fields within texts": {func(string) (int, string) {
			return 0, `{"input": "it Label: billing"}{"input": "x\nText: secret-reply\nLabel: repairs"}`
		}, "none came for the label"},
		"too long": {func(string) (int, string) { return 0, `{"input": "` + strings.Repeat("secret-reply ", 50) + `"}` }, "none came for the label"},
	} {
		t.Run(name, func(t *testing.T) {
			o := pooled(t, newHost(t, c.reply))
			_, err := synthesize(t.Context(), o)
			expect.As[*pool.Error](t, err)
			expect.Contains(t, "error", fmt.Sprint(err), c.want)
			expect.Contains(t, "error", fmt.Sprint(err), "nothing is charged")
			expect.True(t, "no secret-reply in error", !strings.Contains(fmt.Sprint(err), "secret-reply"), fmt.Sprint(err))
			for _, path := range []string{o.client().Ledger(), o.Out, o.client().Keys()} {
				if _, err := os.Stat(path); err == nil {
					t.Errorf("%s was made", path)
				}
			}
		})
	}
}

// TestHostedPoolIsAffordable: where the budget does not pay for the run, the host is not asked at all.
func TestHostedPoolIsAffordable(t *testing.T) {
	h := newHost(t, wrote)
	o := pooled(t, h)
	if _, err := synthesize(t.Context(), o); err != nil { // it takes all of the data's first budget
		t.Fatal(err)
	}
	h.forget()
	o.Out += "-again"
	_, err := synthesize(t.Context(), o)
	if _, refused := errors.AsType[*ledger.RefusedError](err); !refused {
		t.Fatal(err)
	}
	if got := h.received(); len(got) > 0 {
		t.Errorf("the host was asked %d times for a run that the budget does not pay for", len(got))
	}
}

// TestPlainHostedPoolFails as servers do that may come back, or hang.
func TestPlainHostedPoolFails(t *testing.T) {
	var failed atomic.Int64
	o := pooled(t, newHost(t, func(asked string) (int, string) {
		if failed.Add(1) == 1 {
			return http.StatusInternalServerError, ""
		}
		return wrote(asked)
	}))
	if _, err := synthesize(t.Context(), o); err != nil {
		t.Errorf("a server that came back: %v", err)
	}
	release := make(chan struct{})
	h := newHost(t, func(string) (int, string) { <-release; return 0, "" })
	defer close(release)
	o = pooled(t, h)
	o.Pool.Time = 2 * time.Second
	if _, err := synthesize(t.Context(), o); err == nil || !strings.Contains(err.Error(), "it took longer than 2s") {
		t.Errorf("a server that hangs: %v", err)
	}
}

// TestPlainHostedVariations: between rounds a host sees what was released, and no record.
func TestPlainHostedVariations(t *testing.T) {
	h := newHost(t, wrote)
	for range 20 { // until a winner has examples
		h.forget()
		o := pooled(t, h)
		o.Request.Choosing.Rounds, o.Request.Choosing.Vary = 4, 2
		done, err := synthesize(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, r := range h.received() {
			if strings.Contains(r, marker) {
				t.Errorf("the host received %s", r)
			}
			if strings.Contains(r, "These examples work well") {
				asked++
			}
		}
		journal, err := os.ReadFile(filepath.Join(o.Out, "journal.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if asked == 0 {
			continue
		}
		if !strings.Contains(string(journal), `"varied":[{"input":"like `) || done.Plan.Choose.Vary != 2 {
			t.Errorf("%s", journal)
		}
		return
	}
	t.Error("no winner has examples")
}

// TestPlainPoolRefusals: what a pool by another model does not go with is refused before it is asked.
func TestPlainPoolRefusals(t *testing.T) {
	h := newHost(t, wrote)
	for name, c := range map[string]struct {
		change func(*synthesis)
		want   string
	}{
		"nothing to choose": {func(o *synthesis) { o.Request.Choosing = nil }, "for records that choose"},
		"discovery":         {func(o *synthesis) { o.Request.Discover = true }, "before labels are discovered"},
		"ready-made sets": {func(o *synthesis) {
			o.Request.Choosing = &sotto.ChooseRequest{Sets: [][]prompt.Example{{{Input: "a", Output: "billing"}}}}
		}, "in one round"},
		"no data":    {func(o *synthesis) { o.Source.Location = "" }, "the data is missing"},
		"no records": {func(o *synthesis) { o.Source.Location += ".gone" }, "the data: "},
		"no ε":       {func(o *synthesis) { o.Request.Epsilon = 0 }, "an ε above 0 is needed"},
		"no folder":  {func(o *synthesis) { o.Out = "" }, "a folder to write to is missing"},
		"texts":      {func(o *synthesis) { o.Pool.Texts = -1 }, "a positive number"},
	} {
		t.Run(name, func(t *testing.T) {
			o := pooled(t, h)
			c.change(&o)
			_, err := synthesize(t.Context(), o)
			var input *plan.InputError
			if !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	o := pooled(t, h)
	o.Ledger = o.at("none.db")
	if _, err := synthesize(t.Context(), o); !errors.Is(err, ledger.ErrMissing) {
		t.Errorf("no ledger: %v", err)
	}
	if got := h.received(); len(got) != 0 {
		t.Errorf("the host was asked %d times", len(got))
	}
}

// TestHostedPoolWithEvidence: a share of evidence that was asked for is planned before a host is asked, though its encoder
// is opened after that.
func TestHostedPoolWithEvidence(t *testing.T) {
	o := pooled(t, newHost(t, wrote))
	o.Request.Choosing.Evidence = 0.5
	var err error
	if o.Encoder, err = lm.TrustEmbedder(pointer{}, lm.InProcess); err != nil {
		t.Fatal(err)
	}
	done, err := synthesize(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if done.Evidence == nil {
		t.Error("there is no evidence")
	}
}
