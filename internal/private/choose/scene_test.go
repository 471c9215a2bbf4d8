package choose

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/grader"
	"github.com/sotto-dp/sotto/internal/private/internal/grader/gradertest"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// canary is in every record, and must be in no error.
const canary = "canary-4711"

// likes makes a record that answers rightly in the ways it names, with the task below and
// the toy's scores.
func likes(ways string) string { return canary + " likes " + ways }

// follow is a model that gives a record the right answer, a, where the instruction is a way
// that the record likes.
func follow(text string) []float64 {
	out := make([]float64, gradertest.End+1)
	switch question := text[strings.LastIndex(text, "Q:")+1:]; {
	case !strings.HasSuffix(text, "A: "):
		out[' '] = 9
	default:
		_, way, _ := strings.Cut(text, "way ")
		_, ways, _ := strings.Cut(question, "likes ")
		ways, _, _ = strings.Cut(ways, "\n")
		if strings.Contains(ways, way[:1]) {
			out['a'] = 9
		} else {
			out['b'] = 9
		}
	}
	return out
}

var toyTask = prompt.Task{
	Name: "test", Kind: prompt.Classify, Text: "t", Label: "l", Labels: []string{"a", "b"},
	Generate: prompt.Generation{Instruction: "Write."},
	Answer:   prompt.AnswerLayout{Instruction: "Choose.", Input: "Q", Output: "A"},
}.WithDefaults()

// ways are candidates.
func ways(names string) (out []prompt.Prompt) {
	for _, n := range names {
		out = append(out, prompt.Prompt{Instruction: "way " + string(n)})
	}
	return out
}

// pool holds units in parts, logs what is read, and can fail.
type pool struct {
	parts [][][]string // texts by part and unit
	read  []int64
	asked []seal.Ref
	drawn int // references that were made, for all draws together
	// choosing and fetching are errors of the two.
	choosing, fetching error
}

func init() { seal.Admit[*pool]() }

// of makes a pool of units of one record each.
func of(texts ...string) *pool {
	p := &pool{parts: make([][][]string, 1)}
	for _, t := range texts {
		p.parts[0] = append(p.parts[0], []string{t})
	}
	return p
}

func (p *pool) Size(part int) seal.Count { return seal.NewCount(len(p.parts[part])) }

func (p *pool) Choose(part, unit int, s *noise.Stream) (seal.Ref, error) {
	n := len(p.parts[part][unit])
	p.drawn++
	return seal.NewRef(int64(100*part+unit+1), int64(s.Uint64n(uint64(n)))), p.choosing
}

func (p *pool) Fetch(_ context.Context, refs []seal.Ref) ([]seal.Record, error) {
	var out []seal.Record
	p.asked = append(p.asked, refs...)
	for _, r := range refs {
		ordinal, place := seal.Place(r)
		p.read = append(p.read, ordinal)
		out = append(out, seal.NewRecord(ordinal, "a", p.parts[(ordinal-1)/100][(ordinal-1)%100][place]))
	}
	return out, p.fetching
}

// scene is all that a choice needs.
func scene(t testing.TB, p *pool, c Choice) (Options, *gradertest.Toy) {
	t.Helper()
	toy := &gradertest.Toy{Logits: follow}
	model, err := lm.Trust(toy, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Model: model, Task: toyTask, Pool: p, Key: noise.KeyFromSeed(7), Choice: c}, toy
}

func chooser(t testing.TB, o Options) *Chooser {
	t.Helper()
	c, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// second are the candidates of the second round, by the winner of the first.
var second = []string{"34", "56", "78"}

// winners of a choice of one or two rounds.
func winners(t testing.TB, c *Chooser) string {
	t.Helper()
	out, names := "", "012"
	for round := range c.Choice.Rounds {
		got, err := c.Round(t.Context(), round, ways(names))
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprint(got.Winner)
		names = second[min(got.Winner, len(second)-1)]
	}
	return out
}

// distributionOf is the exact distribution of winners: grades are the grader's, of all the records of each
// draw together, and draws are listed.
func distributionOf(t testing.TB, o Options, p *pool) distribution {
	t.Helper()
	j, err := grader.New(t.Context(), grader.Options{Model: o.Model, Task: o.Task, Utility: o.Choice.Utility})
	if err != nil {
		t.Fatal(err)
	}
	m := trial{Choice: o.Choice}
	var units []unit // whose only view has the record's number in place of grades
	var texts []string
	for _, part := range p.parts {
		for _, u := range part {
			units = append(units, nil)
			for _, text := range u {
				units[len(units)-1] = append(units[len(units)-1], views{{int64(len(texts))}})
				texts = append(texts, text)
			}
		}
	}
	draws := m.draws(units)
	round := func(names string) distribution {
		out := distribution{}
		for _, d := range draws {
			var records []seal.Record
			for i, v := range d.seen(0) {
				records = append(records, seal.NewRecord(int64(i+1), "a", texts[v[0]]))
			}
			grades, err := j.Judge(t.Context(), ways(names), records)
			if err != nil {
				t.Fatal(err)
			}
			for name, x := range softmax(o.Choice.rate(), sums(grades)) {
				out[name] += d.probability * x
			}
		}
		return out
	}
	first := round("012")
	if o.Choice.Rounds == 1 {
		return first
	}
	out := distribution{}
	m.then(out, 1, first, func(view int) distribution { return round(second[view-1]) })
	return out
}

var audience = []string{likes("0358"), likes("036"), likes("1478"), likes("25")}

// schemes are ways to draw from the audience.
var schemes = map[string]scheme.Scheme{
	"poisson":    {Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.3},
	"fixed size": {Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 2, Of: 4},
}

// TestToyModel: grades of the scene are what its records like.
func TestToyModel(t *testing.T) {
	o, _ := scene(t, of(audience...), choice(schemes["poisson"], 1, 1))
	j, err := grader.New(t.Context(), grader.Options{Model: o.Model, Task: o.Task, Utility: Hard})
	if err != nil {
		t.Fatal(err)
	}
	got, err := j.Judge(t.Context(), ways("012"), []seal.Record{seal.NewRecord(1, "a", audience[0]), seal.NewRecord(2, "a", audience[3]), seal.NewRecord(3, "b", audience[3])})
	want := [][]int64{{one, 0, one}, {0, 0, one}, {0, one, 0}}
	if err != nil || !slices.EqualFunc(got, want, slices.Equal[[]int64]) {
		t.Errorf("grades are %v, %v", got, err)
	}
}
