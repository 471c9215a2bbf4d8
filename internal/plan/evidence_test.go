package plan_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/evidence/rows"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// withEvidence has all records added up, and then choose in a few rounds.
func withEvidence() *plan.ChooseRequest {
	return &plan.ChooseRequest{Writing: -1, Measuring: -1, Rounds: 2, Records: 50, Evidence: 0.5, Encoder: "toy 1"}
}

// ofRows is a request about rows of a table.
func ofRows(t *testing.T, r plan.Request) plan.Request {
	t.Helper()
	s, err := schema.Find("heart")
	if err != nil {
		t.Fatal(err)
	}
	if r.Task, err = s.Task(); err != nil {
		t.Fatal(err)
	}
	e, err := rows.New(s)
	if err != nil {
		t.Fatal(err)
	}
	r.Choosing = withEvidence()
	r.Choosing.Encoder = e.Name()
	r.FromSchema(s, 0, nil)
	return r
}

// TestPlainEvidenceOfRows: rows of a table have several sums with short steps, however few there are, and a plan
// with another schema than its encoder's, or without, is refused.
func TestPlainEvidenceOfRows(t *testing.T) {
	for _, size := range []int64{100, 5000, 1_000_000} {
		p := mustPlan(t, ofRows(t, plan.Request{Size: size, Epsilon: 1}))
		e := p.Evidence
		at := expect.At(t, "%d rows", size)
		expect.Min(at, "e.Sums.Sums", e.Sums.Sums, 2)
		expect.Max(at, "e.Step", e.Step, 12.5)
		expect.True(at, "e.Schema other than nil", e.Schema != nil)
	}
	made := mustPlan(t, ofRows(t, plan.Request{Size: 5000, Epsilon: 1}))
	for name, change := range map[string]func(*plan.Evidence){
		"no schema":       func(e *plan.Evidence) { e.Schema = nil },
		"another schema":  func(e *plan.Evidence) { e.Schema.Columns[0].High++ },
		"another encoder": func(e *plan.Evidence) { e.Encoder = "toy 1" },
	} {
		t.Run(name, func(t *testing.T) {
			p := reread(t, made)
			if err := p.Check(); err != nil {
				t.Fatal(err)
			}
			change(p.Evidence)
			if err := p.Check(); err == nil || !strings.Contains(err.Error(), "schema") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestPlainEvidenceIsPaidFor: whatever the unit and the adjacency, the sums are in the plan's event, which costs what
// was asked, of which they have their share.
func TestPlainEvidenceIsPaidFor(t *testing.T) {
	agnews := builtin(t, "agnews")
	chat := withEvidence()
	chat.Form = prompt.ChatForm
	for name, r := range map[string]plan.Request{
		"records":    {Task: agnews, Size: 5000, Epsilon: 1, Choosing: withEvidence()},
		"few":        {Task: agnews, Size: 100, Epsilon: 0.3, Choosing: withEvidence()},
		"fixed size": {Task: agnews, Size: 5000, Epsilon: 1, Sampler: scheme.FixedSize, Choosing: withEvidence()},
		"users":      {Task: agnews, Size: 5000, Epsilon: 1, Unit: "user:author", Choosing: withEvidence()},
		"counted":    {Task: agnews, Count: true, MinSize: 4000, Epsilon: 1, Choosing: withEvidence()},
		"chat":       {Task: agnews, Size: 5000, Epsilon: 1, Choosing: chat},
		"table":      ofRows(t, plan.Request{Size: 5000, Epsilon: 1}),
		"few rows":   ofRows(t, plan.Request{Size: 100, Epsilon: 0.3, Unit: "user:owner"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := mustPlan(t, r)
			e := p.Evidence
			if e == nil {
				t.Fatal("there is no evidence")
			}
			terms, err := privacy.Terms(p.Event())
			if err != nil {
				t.Fatal(err)
			}
			paid := false
			for _, term := range terms {
				paid = paid || term.Event == privacy.Gaussian{Sigma: e.Sigma} && term.N == e.Sums.Sums
			}
			if !paid {
				t.Errorf("the event %s does not have %s", p.Event(), e.Event())
			}
			whole, err := accountant.Auto{}.Epsilon(p.Event(), p.Adjacency, p.Delta)
			expect.NoError(t, err)
			expect.Within(t, "whole.Upper", whole.Upper, 0.97*p.Epsilon, p.Epsilon)
			share, err := accountant.Auto{}.Epsilon(e.Event(), p.Adjacency, p.Delta)
			expect.NoError(t, err)
			expect.Within(t, "share.Upper", share.Upper, 0.48*p.Epsilon, 0.5*p.Epsilon)
			each := 1
			if r.Unit != "" {
				each = 4
			}
			expect.Equal(t, "e.Each", e.Each, each)
			expect.Equal(t, "e.Adjacency", e.Adjacency, p.Adjacency)
			expect.Equal(t, "e.Encoder", e.Encoder, r.Choosing.Encoder)
			expect.Equal(t, "e.Schema", e.Schema, r.Choosing.Schema)
			expect.True(t, "e.Alone", e.Alone)
			if turns := r.Choosing.Form.Turns(); (len(e.Weights) > 0) == turns || (e.Hints > 0) != turns {
				t.Errorf("in the form %q it has weights %v and %d hints", r.Choosing.Form, e.Weights, e.Hints)
			}
			if !strings.Contains(p.Proof(), e.Proof()) || !strings.Contains(p.Steps(), "all records are added up") {
				t.Errorf("the plan says %s, and proves it by %s", p.Steps(), p.Proof())
			}
			if again := reread(t, p); !reflect.DeepEqual(again, p) {
				t.Errorf("a plan read from a file is another one:\n%+v\n%+v", again, p)
			}
		})
	}
}

// TestPlainNoEvidence: a plan that does not ask for it is the same, byte for byte, and has no word of it.
func TestPlainNoEvidence(t *testing.T) {
	var want string
	for i, share := range []float64{0, -1} {
		c := withEvidence()
		c.Evidence = share
		if i == 0 {
			c.Encoder = ""
		}
		p := mustPlan(t, plan.Request{Task: builtin(t, "agnews"), Size: 5000, Epsilon: 1, Choosing: c})
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		at := expect.At(t, "a share of %v", share)
		expect.True(at, "no evidence in data", !strings.Contains(string(data), "evidence"), string(data))
		expect.True(at, "no gaussian in p.Event()", !strings.Contains(p.Event().String(), "gaussian"), p.Event().String())
		if i > 0 {
			expect.Equal(at, "data", string(data), want)
		}
		want = string(data)
	}
}

// TestPlainEvidenceRefuses: what cannot be planned is refused in words that help.
func TestPlainEvidenceRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		task   string
		change func(*plan.Request)
		want   string
	}{
		"open labels":  {"mit-g", func(*plan.Request) {}, "closed list of labels"},
		"outputs":      {"samsum", func(r *plan.Request) { r.Conditions = []string{"one", "two"} }, "closed list of labels"},
		"no encoder":   {"agnews", func(r *plan.Request) { r.Choosing.Encoder = "" }, "sotto model pull minilm"},
		"all":          {"agnews", func(r *plan.Request) { r.Choosing.Evidence = 1 }, "leave nothing for choosing"},
		"endless":      {"agnews", func(r *plan.Request) { r.Choosing.Evidence = math.Inf(1) }, "leave nothing for choosing"},
		"no number":    {"agnews", func(r *plan.Request) { r.Choosing.Evidence = math.NaN() }, "to be a number"},
		"with writing": {"agnews", func(r *plan.Request) { r.Choosing.Evidence, r.Choosing.Writing = 0.6, 0.4 }, "leave nothing for choosing"},
		"with all":     {"agnews", func(r *plan.Request) { r.Choosing.Evidence, r.Choosing.Measuring = 0.6, 0.5 }, "leave nothing for choosing"},
	} {
		t.Run(name, func(t *testing.T) {
			r := plan.Request{Task: builtin(t, c.task), Size: 5000, Epsilon: 1, Choosing: withEvidence()}
			c.change(&r)
			_, err := plan.New(r)
			if input := new(plan.InputError); !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestPlainEvidenceIsChecked: a plan that was changed after it was made is refused.
func TestPlainEvidenceIsChecked(t *testing.T) {
	made := mustPlan(t, plan.Request{Task: builtin(t, "agnews"), Size: 5000, Epsilon: 1, Choosing: withEvidence()})
	for name, c := range map[string]struct {
		change func(*plan.Plan)
		want   string
	}{
		"adjacency":     {func(p *plan.Plan) { p.Evidence.Adjacency = privacy.ReplaceOne }, "its evidence under replace-one"},
		"no noise":      {func(p *plan.Plan) { p.Evidence.Sigma = 0 }, "noise of a positive scale"},
		"no sums":       {func(p *plan.Plan) { p.Evidence.Sums.Sums = 0 }, "sums"},
		"no encoder":    {func(p *plan.Plan) { p.Evidence.Encoder = "" }, "name of an encoder"},
		"turns":         {func(p *plan.Plan) { p.Choose.Form = prompt.ChatForm }, "which turns do not have"},
		"many hints":    {func(p *plan.Plan) { p.Evidence.Hints = prompt.Hints() + 1 }, "wordings of hints"},
		"hints below 0": {func(p *plan.Plan) { p.Evidence.Hints = -1 }, "wordings of hints"},
		"below 0":       {func(p *plan.Plan) { p.Evidence.Weights = []float64{1, -1} }, "positive weights"},
		"of 0":          {func(p *plan.Plan) { p.Evidence.Weights = []float64{0} }, "positive weights"},
		"no number":     {func(p *plan.Plan) { p.Evidence.Weights = []float64{math.NaN()} }, "positive weights"},
		"endless":       {func(p *plan.Plan) { p.Evidence.Weights = []float64{math.Inf(1)} }, "positive weights"},
	} {
		t.Run(name, func(t *testing.T) {
			p := reread(t, made)
			c.change(&p)
			if err := p.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestPlainEvidenceTakesTime: the encoder's time is in what a plan costs, and is taken off the time for choosing.
func TestPlainEvidenceTakesTime(t *testing.T) {
	for unit, each := range map[privacy.Unit]float64{"": 1, "user:author": 4} {
		t.Run(string(unit), func(t *testing.T) {
			r := plan.Request{Task: builtin(t, "agnews"), Size: 4000, Epsilon: 1, Unit: unit, Choosing: withEvidence()}
			p := mustPlan(t, r)
			slow := plan.Speed{Prefill: 1000, Step: 0.01, Encode: 0.005}
			fast := slow
			fast.Encode = 0
			if more, want := p.Cost(plan.Shape{}, slow).Cached.Seconds-p.Cost(plan.Shape{}, fast).Cached.Seconds, 20*each; math.Abs(more-want) > 1e-6 {
				t.Errorf("encoding adds %v seconds, want %v", more, want)
			}
			long, err := r.Within(10*time.Minute, plan.Shape{}, fast)
			if err != nil {
				t.Fatal(err)
			}
			short, err := r.Within(10*time.Minute, plan.Shape{}, slow)
			if err != nil {
				t.Fatal(err)
			}
			if !(short.Choosing.Work < long.Choosing.Work) {
				t.Errorf("work of %v with an encoder that takes its time, %v with one that does not", short.Choosing.Work, long.Choosing.Work)
			}
		})
	}
}

// TestPlainEvidenceByDefault: a closed list of labels has evidence if an encoder is there and the records are
// enough, and nothing else has, unless it is asked for.
func TestPlainEvidenceByDefault(t *testing.T) {
	agnews := builtin(t, "agnews") // four labels
	sets := [][]prompt.Example{{{Input: "a", Output: agnews.Labels[0]}}}
	for _, c := range []struct {
		name    string
		request plan.Request
		// choosing is what is asked of it, with an encoder unless bare.
		choosing plan.ChooseRequest
		bare     bool
		want     float64
	}{
		{name: "many", request: plan.Request{Task: agnews, Size: 5000, Epsilon: 1}, want: 0.7},
		{name: "just enough", request: plan.Request{Task: agnews, Size: 240, Epsilon: 1}, want: 0.7},
		{name: "too few", request: plan.Request{Task: agnews, Size: 239, Epsilon: 1}},
		{name: "too few at a small ε", request: plan.Request{Task: agnews, Size: 600, Epsilon: 0.3}},
		{name: "sizes of labels", request: plan.Request{Task: agnews, Sizes: map[string]int64{"World": 100, "Sports": 100, "Business": 100, "Technology": 100}, Epsilon: 1}, want: 0.7},
		{name: "beside writing", request: plan.Request{Task: agnews, Size: 5000, Epsilon: 1}, choosing: plan.ChooseRequest{Writing: 0.5}, want: 0.35},
		{name: "declined", request: plan.Request{Task: agnews, Size: 5000, Epsilon: 1}, choosing: plan.ChooseRequest{Evidence: -1}},
		{name: "asked for", request: plan.Request{Task: agnews, Size: 100, Epsilon: 1}, choosing: plan.ChooseRequest{Evidence: 0.2}, want: 0.2},
		{name: "ready-made sets", request: plan.Request{Task: agnews, Size: 5000, Epsilon: 1}, choosing: plan.ChooseRequest{Sets: sets}},
		{name: "no closed list", request: plan.Request{Task: builtin(t, "mit-g"), Size: 5000, Epsilon: 1}},
		{name: "no encoder", request: plan.Request{Task: agnews, Size: 5000, Epsilon: 1}, bare: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.choosing.Rounds, c.choosing.Records = 2, 50
			if !c.bare {
				c.choosing.Encoder = "toy 1"
			}
			c.request.Choosing = &c.choosing
			p := mustPlan(t, c.request)
			e := p.Evidence
			if (e != nil) != (c.want > 0) {
				t.Fatalf("evidence %+v, want a share of %v", e, c.want)
			}
			if e == nil {
				return
			}
			cost, err := accountant.Auto{}.Epsilon(e.Event(), p.Adjacency, p.Delta)
			if err != nil {
				t.Fatal(err)
			}
			if share := cost.Upper / p.Epsilon; share > c.want || share < 0.97*c.want {
				t.Errorf("a share of %v, want %v", share, c.want)
			}
		})
	}
}

// TestFormWithEvidence: the embedded engine has scores that evidence is combined with, so that prompts are texts,
// unless the user says otherwise. Servers are asked in turns, as without evidence.
func TestFormWithEvidence(t *testing.T) {
	chats := lm.Info{Backend: "embedded", Parameters: 2_000_000_000, Can: lm.Capabilities{Chat: true}}
	server := chats
	server.Backend = "vllm"
	for _, c := range []struct {
		name     string
		info     lm.Info
		choosing plan.ChooseRequest
		want     prompt.Form
	}{
		{"embedded", chats, plan.ChooseRequest{Encoder: "toy 1"}, prompt.TextForm},
		{"a server", server, plan.ChooseRequest{Encoder: "toy 1"}, prompt.ChatForm},
		{"no encoder", chats, plan.ChooseRequest{}, prompt.ChatForm},
		{"no evidence", chats, plan.ChooseRequest{Encoder: "toy 1", Evidence: -1}, prompt.ChatForm},
		{"asked for turns", chats, plan.ChooseRequest{Encoder: "toy 1", Form: prompt.ChatForm}, prompt.ChatForm},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plan.Request{Task: builtin(t, "agnews"), Size: 5000, Epsilon: 1, Choosing: &c.choosing}
			if got := r.For(c.info).Choosing.Form; got != c.want {
				t.Errorf("the form %q, want %q", got, c.want)
			}
		})
	}
}

// TestOnlyEvident: where few records choose, prompts that use no evidence do not compete, and the plan says so.
func TestOnlyEvident(t *testing.T) {
	agnews := builtin(t, "agnews")
	for name, c := range map[string]struct {
		work     float64
		evidence float64
		want     bool
	}{
		"few":                  {20_000, 0.5, true},
		"many":                 {2_000_000, 0.5, false},
		"few without evidence": {20_000, -1, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := plan.Request{Task: agnews, Size: 20000, Epsilon: 1}
			r.Choosing = withEvidence()
			r.Choosing.Rounds, r.Choosing.Records, r.Choosing.Work, r.Choosing.Evidence, r.Choosing.Last = 3, 0, c.work, c.evidence, 0.5
			p := mustPlan(t, r)
			if got := p.OnlyEvident(); got != c.want {
				t.Errorf("only evidence: %v, want %v", got, c.want)
			}
			if got := strings.Contains(p.Steps(), "the winners and evidence alone"); got != c.want {
				t.Errorf("%s", p.Steps())
			}
		})
	}
}
