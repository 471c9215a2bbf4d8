package attack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lab/attack/adversary"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// Writer makes a release of members that have one label: demonstrations of that label.
type Writer func(ctx context.Context, label string, members []prompt.Example, seed uint64) ([]prompt.Example, error)

// Chooser makes a release of members: the place of one of some sets.
type Chooser func(ctx context.Context, sets [][]prompt.Example, members []prompt.Example, seed uint64) (int, error)

// Game plays membership inference. Its records are public: they stand in for private ones.
type Game struct {
	Model   lm.Scorer
	Task    prompt.Task
	Records []prompt.Example
	// Trials is how many releases are attacked of each kind, Size how many records a release is made of
	// on average, and Scored how many of them and of others are scored in each.
	Trials, Size, Scored int
	// Canaries is how many there are; each is in or out in Trials/Canaries releases.
	Canaries   int
	Confidence float64
	Key        noise.Key
	// Observe, if set, is called with how many releases are done.
	Observe func(done int)

	reader  *adversary.Reader
	byLabel map[string][]prompt.Example
	plain   map[prompt.Example][2]float64 // answers and readings without any demonstration
	canary  []prompt.Example
	done    int
}

// minRecords is how many records a label needs, for a release and for those outside.
func (g *Game) minRecords() int { return max(2*g.Size, g.Scored+1) }

// Prepare checks the game. It has to be called first.
func (g *Game) Prepare() (err error) {
	if g.reader, err = adversary.NewReader(g.Model, g.Task); err != nil {
		return err
	}
	g.Task = g.reader.Task
	g.byLabel, g.plain = map[string][]prompt.Example{}, map[prompt.Example][2]float64{}
	seen := map[string]bool{}
	for _, e := range g.Records {
		if label, known := g.Task.ResolveLabel(strings.TrimSpace(e.Output)); known && !seen[e.Input] {
			seen[e.Input] = true
			g.byLabel[label] = append(g.byLabel[label], prompt.Example{Input: e.Input, Output: label})
		}
	}
	var labels []string
	for _, l := range g.Task.Labels {
		if len(g.byLabel[l]) >= g.minRecords() {
			labels = append(labels, l)
		}
	}
	if len(labels) == 0 {
		return fmt.Errorf("no label has the %d different records that a release and those outside it need: give more records, or make releases of fewer", g.minRecords())
	}
	order, err := g.Key.Stream("labels of canaries").Permutation(len(labels))
	if err != nil {
		return err
	}
	for i := range max(1, g.Canaries) {
		label := labels[order[i%len(order)]]
		g.canary = append(g.canary, prompt.Example{Input: outlier(g.Key.Stream("canary", uint64(i))), Output: label})
	}
	return nil
}

// odd are words that are rarely beside each other.
var odd = strings.Fields(`zephyr quartz bassoon lichen turbine saffron gargoyle isotope marzipan trellis kelp obelisk
	walrus cobalt fjord harpsichord nettle quasar raffia sextant tundra ukulele vellum wicker yurt anvil brine chisel
	dynamo ember ferret gimlet hazel ingot juniper kiln lantern mortar nickel ochre pewter quill rudder sundial thimble`)

// outlier makes up a record unlike all others.
func outlier(s *noise.Stream) string {
	words := make([]string, 8)
	for i := range words {
		words[i] = odd[s.Uint64n(uint64(len(odd)))]
	}
	return strings.ToUpper(words[0][:1]) + words[0][1:] + " " + strings.Join(words[1:], " ") + "."
}

// trial is one release's candidates: records of a label, each inside or not, and a canary.
type trial struct {
	number   int
	canary   int
	in       bool // the canary
	records  []prompt.Example
	inside   []bool
	any      []prompt.Example // others of any label
	seed     uint64
	released []prompt.Example
}

// members are what a release is made of.
func (t trial) members(canary prompt.Example) (out []prompt.Example) {
	for i, e := range t.records {
		if t.inside[i] {
			out = append(out, e)
		}
	}
	if t.in {
		out = append(out, canary)
	}
	return out
}

// label of a trial.
func (g *Game) label(t trial) string { return g.canary[t.canary].Output }

// deal makes the trial with a number, for one kind of demonstrations.
func (g *Game) deal(kind string, number int) (trial, error) {
	s := g.Key.Derive(kind).Stream("trial", uint64(number))
	t := trial{number: number, canary: number % len(g.canary), in: s.Bool(), seed: s.Uint64()}
	from := g.byLabel[g.label(t)]
	some, err := s.Subset(g.minRecords(), len(from))
	if err != nil {
		return t, err
	}
	s.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	for _, i := range some {
		t.records, t.inside = append(t.records, from[i]), append(t.inside, s.Bool())
	}
	for len(t.any) < g.Scored {
		all := g.byLabel[g.Task.Labels[s.Uint64n(uint64(len(g.Task.Labels)))]]
		if len(all) == 0 {
			continue
		}
		if e := all[s.Uint64n(uint64(len(all)))]; e != t.records[0] {
			t.any = append(t.any, e)
		}
	}
	return t, nil
}

// board collects scores by attack, and of canaries by canary.
type board struct {
	scores   map[string][]Score
	canaries map[string]map[int][]Score
}

func newBoard() *board {
	return &board{map[string][]Score{}, map[string]map[int][]Score{}}
}

func (b *board) add(attack string, release int, in bool, value float64) {
	b.scores[attack] = append(b.scores[attack], Score{release, in, value})
}

func (b *board) addCanary(attack string, t trial, value float64) {
	if b.canaries[attack] == nil {
		b.canaries[attack] = map[int][]Score{}
	}
	b.canaries[attack][t.canary] = append(b.canaries[attack][t.canary], Score{t.number, t.in, value})
}

// rows judges all attacks.
func (b *board) rows(epsilon, delta, confidence float64) (out []Row, err error) {
	all := map[string][]Score{}
	for attack, scores := range b.scores {
		if attack == Answers { // whose sign depends on the model
			scores = Ratios(map[int][]Score{0: scores})
		}
		if bothSides(scores) {
			all[attack] = scores
		}
	}
	for attack, of := range b.canaries {
		if ratios := Ratios(of); bothSides(ratios) {
			all[OfCanary+attack] = ratios
		}
	}
	for attack, scores := range all {
		row, err := NewRow(attack, scores, epsilon, delta, confidence)
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	rank := []string{Published, Answers, Reads, Writes, Choice, OfCanary + Answers, OfCanary + Reads, OfCanary + Writes, OfCanary + Choice}
	slices.SortFunc(out, func(a, b Row) int { return cmp.Compare(slices.Index(rank, a.Attack), slices.Index(rank, b.Attack)) })
	return out, nil
}

func bothSides(scores []Score) bool {
	in := func(s Score) bool { return s.In }
	out := func(s Score) bool { return !s.In }
	return slices.ContainsFunc(scores, in) && slices.ContainsFunc(scores, out)
}

func (g *Game) tick() {
	g.done++
	if g.Observe != nil {
		g.Observe(g.done)
	}
}
