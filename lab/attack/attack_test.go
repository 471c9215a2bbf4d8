package attack

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/engine/llama"
	"github.com/sotto-dp/sotto/internal/likelihood"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/attack/adversary"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// messages are made up.
func messages(t *testing.T, n int) (prompt.Task, []prompt.Example) {
	t.Helper()
	task, err := demo.Office().Task()
	if err != nil {
		t.Fatal(err)
	}
	var out []prompt.Example
	for _, m := range demo.Office().Tickets(n) {
		out = append(out, prompt.Example{Input: m.Text, Output: m.Label})
	}
	return task, out
}

func newGame(t *testing.T, m lm.Scorer, trials int) *Game {
	t.Helper()
	task, records := messages(t, 400)
	g := &Game{Model: m, Task: task, Records: records, Trials: trials, Size: 16, Scored: 6, Canaries: 2, Confidence: 0.99, Key: noise.KeyFromSeed(7)}
	if err := g.Prepare(); err != nil {
		t.Fatal(err)
	}
	return g
}

func find(t *testing.T, rows []Row, attack string) Row {
	t.Helper()
	for _, r := range rows {
		if r.Attack == attack {
			return r
		}
	}
	t.Fatalf("no row is about %s", attack)
	return Row{}
}

// TestRealIsAttackable: records as demonstrations are found by their text, and canaries by both
// statistics. Each lower end holds with a confidence of 0.995, and the seed is fixed.
func TestRealIsAttackable(t *testing.T) {
	p := newParrot()
	rows, err := newGame(t, p, 40).Real(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, attack := range []string{Reads, Writes, OfCanary + Reads, OfCanary + Writes} {
		r := find(t, rows, attack)
		at := expect.At(t, "%s", attack)
		expect.True(at, "r.AUCLow above 0.6", r.AUCLow > 0.6, r.AUCLow)
		expect.Equal(at, "r.Conclusion", r.Conclusion, Attackable)
		expect.True(at, "not r.Private", !r.Private)
	}
	if p.open != 0 {
		t.Errorf("%d sequences are left", p.open)
	}
	if again, err := newGame(t, p, 40).Real(t.Context()); err != nil || !reflect.DeepEqual(rows, again) {
		t.Errorf("from the same seed: %+v, then %+v, %v", rows, again, err)
	}
}

// TestLeakIsBeyond: a method that releases one of its members, and says that it is private, is flagged. One
// that releases a record of nobody's is not.
func TestLeakIsBeyond(t *testing.T) {
	g := newGame(t, newParrot(), 40)
	copies := func(_ context.Context, label string, members []prompt.Example, seed uint64) ([]prompt.Example, error) {
		return members[len(members)-1:], nil // the canary, if it is in
	}
	rows, err := g.Private(t.Context(), copies, 1, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if r := find(t, rows, OfCanary+Writes); r.Conclusion != Beyond || r.AUCLow <= r.AUCAllowed {
		t.Errorf("a copied canary: %+v", r)
	}
	public := func(_ context.Context, label string, _ []prompt.Example, seed uint64) ([]prompt.Example, error) {
		return []prompt.Example{{Input: "The lift is stuck.", Output: label}}, nil
	}
	if rows, err = g.Private(t.Context(), public, 0.1, 1e-6); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Conclusion != Within || r.AUCLow > 0.5 {
			t.Errorf("nothing of members: %+v", r)
		}
	}
}

// TestShippedMethods: what ships stays within ε, through the front door.
func TestShippedMethods(t *testing.T) {
	p := newParrot()
	maker, err := NewMaker(p.trusted(t))
	if err != nil {
		t.Fatal(err)
	}
	defer maker.Close()
	g := newGame(t, p, 8)
	for _, method := range []string{"clipped", "mixing"} {
		terms := Terms{Method: method, Epsilon: 2, Delta: 1e-6, Size: 16, Shots: 1, Tokens: 8}
		rows, err := g.Private(t.Context(), func(ctx context.Context, label string, members []prompt.Example, seed uint64) ([]prompt.Example, error) {
			out, err := maker.Write(ctx, g.Task, terms, label, members, seed)
			if err == nil && (len(out) != 1 || out[0].Output != label) {
				t.Errorf("%s wrote %v for %s", method, out, label)
			}
			return out, err
		}, 2, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.Conclusion != Within {
				t.Errorf("%s: %+v", method, r)
			}
		}
	}
	sets, err := g.Sets(3, 2)
	if err != nil {
		t.Fatal(err)
	}
	terms := Terms{Epsilon: 2, Delta: 1e-6, Size: 16}
	seen := map[int]bool{}
	rows, err := g.Choices(t.Context(), sets, func(ctx context.Context, sets [][]prompt.Example, members []prompt.Example, seed uint64) (int, error) {
		at, err := maker.Choose(ctx, g.Task, terms, sets, members, seed)
		seen[at] = true
		return at, err
	}, 2, 1e-6)
	expect.NoError(t, err)
	expect.Equal(t, "find(t, rows, Choice).Conclusion", find(t, rows, Choice).Conclusion, Within)
	expect.Min(t, "number of seen", len(seen), 2)
	if rows, err = g.Choices(t.Context(), sets, nil, math.Inf(1), 0); err != nil || find(t, rows, Choice).Private {
		t.Errorf("%+v, %v", rows, err)
	}
}

// TestCoins: each record is in every second release, with even chances, and members are those that are in.
func TestCoins(t *testing.T) {
	g := newGame(t, newParrot(), 8)
	in, all, canaries := 0, 0, 0
	for i := range 400 {
		d, err := g.deal("coins", i)
		if err != nil {
			t.Fatal(err)
		}
		for _, inside := range d.inside {
			all++
			if inside {
				in++
			}
		}
		if d.in {
			canaries++
		}
		members := d.members(g.canary[d.canary])
		for _, m := range members {
			if m.Output != g.label(d) {
				t.Fatalf("%v is not about %s", m, g.label(d))
			}
		}
	}
	// Six deviations: one in 10⁸ honest coins.
	if d := math.Abs(float64(in)/float64(all) - 0.5); d > 3/math.Sqrt(float64(all)) {
		t.Errorf("%d of %d are in", in, all)
	}
	if canaries < 140 || canaries > 260 {
		t.Errorf("a canary is in %d of 400", canaries)
	}
}

// TestRatiosAreFair: fitted ratios say nothing where there is nothing, and find what there is, whichever
// its sign.
func TestRatiosAreFair(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	auc := func(shift float64) float64 {
		of := map[int][]Score{}
		for c := range 2 {
			for i := range 40 {
				in := r.IntN(2) == 0
				v := r.NormFloat64()
				if in {
					v += shift
				}
				of[c] = append(of[c], Score{100*c + i, in, v})
			}
		}
		row, err := NewRow(Writes, Ratios(of), 1, 0, 0.99)
		if err != nil {
			t.Fatal(err)
		}
		return row.AUC
	}
	mean := 0.
	const times = 400
	for range times {
		mean += auc(0) / times
	}
	if math.Abs(mean-0.5) > 0.02 { // the deviation of a mean is about 0.004
		t.Errorf("without a difference the area is %.3f on average", mean)
	}
	for _, shift := range []float64{4, -4} {
		if a := auc(shift); a < 0.95 {
			t.Errorf("a shift of %v gives %.3f", shift, a)
		}
	}
}

// TestConclusionsAreSeldomWrong: scores of one release that have something in common do not fool the interval,
// and few others do not fool the share of members that is found.
func TestConclusionsAreSeldomWrong(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const times, epsilon = 600, 0.05
	wrong, outside := 0, 0
	for range times {
		var scores []Score
		for release := range 20 {
			common := 3 * r.NormFloat64()
			for range 8 {
				scores = append(scores, Score{release, r.IntN(2) == 0, common + r.NormFloat64()})
			}
		}
		row, err := NewRow(Writes, scores, epsilon, 0, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if row.Conclusion == Beyond {
			wrong++
		}
		if row.AUCLow > 0.5 || row.AUCHigh < 0.5 {
			outside++
		}
	}
	t.Logf("of %d: %d wrong conclusions, %d intervals without the truth", times, wrong, outside)
	if wrong > times/20 || outside > times/10 {
		t.Errorf("of %d: %d wrong conclusions, %d intervals without the truth", times, wrong, outside)
	}
}

// TestRowsAllow: what is allowed is that of package audit, and real demonstrations have no bound.
func TestRowsAllow(t *testing.T) {
	var scores []Score
	for i := range 100 {
		scores = append(scores, Score{i, i%2 == 0, float64(i % 2 * -10)})
	}
	r, err := NewRow(Writes, scores, 1, 1e-6, 0.99)
	expect.NoError(t, err)
	expect.Equal(t, "r.AUC", r.AUC, 1)
	expect.Equal(t, "r.AUCAllowed", r.AUCAllowed, MaxArea(1, 1e-6))
	expect.Equal(t, "r.Conclusion", r.Conclusion, Beyond)
	expect.Equal(t, "r.Members", r.Members, 50)
	expect.Equal(t, "r.Others", r.Others, 50)
	if r.AUCLow > 0.95 || r.AUCLow < 0.8 {
		t.Errorf("50 of each leave room for an exception: %+v", r)
	}
	r, err = NewRow(Writes, scores, math.Inf(1), 0, 0.99)
	expect.NoError(t, err)
	expect.Equal(t, "r.Conclusion", r.Conclusion, Attackable)
	expect.True(t, "not r.Private", !r.Private)
	if _, err := NewRow(Writes, []Score{{0, true, math.NaN()}}, 1, 0, 0.99); err == nil {
		t.Error("a score that is no number was accepted")
	}
}

// TestStudent: against tables.
func TestStudent(t *testing.T) {
	for _, c := range []struct{ p, degrees, want float64 }{{0.975, 10, 2.228}, {0.995, 20, 2.845}, {0.975, 5, 2.571}, {0.995, 1e9, 2.576}} {
		if got := student(c.p, c.degrees); math.Abs(got-c.want) > 0.01 {
			t.Errorf("%v at %v degrees: %.4f, and it is %v", c.p, c.degrees, got, c.want)
		}
	}
}

// TestAmong: the tree gives what scoring each text by itself does, among the tokens that are possible, and
// leaves no sequence behind.
func TestAmong(t *testing.T) {
	p := newParrot()
	session, err := p.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	root, err := session.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Step(t.Context(), []lm.Step{{Sequence: root, Tokens: []lm.Token{1, 'c', 'o', 'd', 'e', ' ', 'i', 's', ' ', '4', '7', '.'}}}); err != nil {
		t.Fatal(err)
	}
	before, _ := p.Encode(t.Context(), " code is")
	var texts [][]lm.Token
	for _, s := range []string{" 47", " 48", " 57", " 58"} {
		tokens, _ := p.Encode(t.Context(), s)
		texts = append(texts, tokens)
	}
	open := p.open
	got, err := among(t.Context(), session, root, before, texts, 2)
	if err != nil {
		t.Fatal(err)
	}
	if p.open != open {
		t.Errorf("%d sequences are left", p.open-open)
	}
	var total float64
	for i, s := range got {
		total += math.Exp(s)
		alone, err := likelihood.Score(t.Context(), session, p.Info(), []likelihood.Continuation{{From: root, Tokens: before, Output: texts[i]}, {From: root, Tokens: before, Output: texts[0]}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		sum := func(x []float64) (s float64) {
			for _, v := range x {
				s += v
			}
			return s
		}
		if better := sum(alone[0].LogProbs) > sum(alone[1].LogProbs); better || i > 0 && s >= got[0] {
			t.Errorf("text %d: %v against %v", i, s, got[0])
		}
	}
	if math.Abs(total-1) > 1e-9 {
		t.Errorf("probabilities add up to %v", total)
	}
	if _, err := among(t.Context(), session, root, before, [][]lm.Token{{1, 2}, {1}}, 2); err == nil {
		t.Error("a text that another begins with was accepted")
	}
}

// TestLongModel: the default model repeats records that it is shown, so that they are found by their text.
func TestLongModel(t *testing.T) {
	if testing.Short() {
		t.Skip("the model reads many records")
	}
	path, _, err := models.Find(models.Default)
	if err != nil {
		t.Skip(err)
	}
	m, err := llama.Open(path, llama.Options{})
	if err != nil {
		t.Skip(err)
	}
	defer m.Close()
	task, records := messages(t, 24)
	r, err := adversary.NewReader(m, task)
	if err != nil {
		t.Fatal(err)
	}
	var scores []Score
	for i := 0; i+2 < len(records); i += 2 {
		got, err := r.Writes(t.Context(), records[i], []prompt.Example{records[i], records[i+1], records[i+2]})
		if err != nil {
			t.Fatal(err)
		}
		for j, v := range got {
			scores = append(scores, Score{i, j == 0, v})
		}
	}
	row, err := NewRow(Writes, scores, math.Inf(1), 0, 0.95)
	if err != nil || row.AUCLow <= 0.6 {
		t.Errorf("%+v, %v", row, err)
	}
}
