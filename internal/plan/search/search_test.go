package search

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// spaces of all sorts, also those in which little can be proposed.
func spaces() *rapid.Generator[Space] {
	return rapid.Custom(func(t *rapid.T) Space {
		s := Space{
			Labels:       []string{"a", "b", "c"}[:rapid.SampledFrom([]int{0, 2, 3}).Draw(t, "labels")],
			Instructions: []string{"One.", "Two.", "Three."}[:rapid.IntRange(0, 3).Draw(t, "instructions")],
			Shots:        rapid.IntRange(0, 6).Draw(t, "shots"),
			MaxShots:     rapid.IntRange(0, 8).Draw(t, "shots"),
		}
		if len(s.Labels) > 0 {
			s.Reading = rapid.SampledFrom([]Reading{"", Raw, Calibrated}).Draw(t, "reading")
		}
		for i := range rapid.IntRange(0, 12).Draw(t, "pool") {
			output := fmt.Sprint("output ", i)
			if len(s.Labels) > 0 { // now and then all of one label
				output = s.Labels[rapid.IntRange(0, len(s.Labels)-1).Draw(t, "label")]
			}
			s.Pool = append(s.Pool, prompt.Example{Input: fmt.Sprint("input ", i), Output: output})
		}
		if n := len(s.Pool); rapid.Bool().Draw(t, "two kinds") {
			s.Beside.From = rapid.IntRange(0, n).Draw(t, "from")
			s.Beside.To = rapid.IntRange(s.Beside.From, n).Draw(t, "to")
		}
		return s
	})
}

// points of a space, as a journal may have them.
func points(s Space) *rapid.Generator[Point] {
	return rapid.Custom(func(t *rapid.T) Point {
		p := Point{Instruction: rapid.IntRange(0, len(s.Instructions)).Draw(t, "instruction")}
		if len(s.Pool) > 0 {
			p.Set = rapid.SliceOfNDistinct(rapid.IntRange(0, len(s.Pool)-1), 0, min(len(s.Pool), s.MaxShots), rapid.ID).Draw(t, "set")
		}
		switch {
		case len(s.Labels) == 0 || s.Reading == Raw:
		case s.Reading == Calibrated:
			p.Calibrated = true
		default:
			p.Calibrated = rapid.Bool().Draw(t, "calibrated")
		}
		return p
	})
}

// check reports what is wrong with the proposals of a round.
func (s Space) check(list []Point, limit int) error {
	for i, p := range list {
		switch {
		case !s.Valid(p):
			return fmt.Errorf("%+v is not of the space", p)
		case slices.ContainsFunc(list[:i], p.equal):
			return fmt.Errorf("%+v is proposed twice", p)
		case len(p.Set) > limit:
			return fmt.Errorf("%+v has more than %d examples", p, limit)
		case s.Reading == Raw && p.Calibrated || s.Reading == Calibrated && !p.Calibrated && len(s.Labels) > 0:
			return fmt.Errorf("%+v is read off otherwise than said", p)
		}
		for at, example := range p.Set {
			if slices.Contains(p.Set[:at], example) {
				return fmt.Errorf("%+v has an example twice", p)
			}
		}
		other := p
		other.Calibrated = !p.Calibrated
		if both := s.Reading == "" && len(s.Labels) > 0; both != slices.ContainsFunc(list, other.equal) {
			return fmt.Errorf("%+v is proposed one way, or two, and should not be", p)
		}
	}
	return nil
}

// readings returns how many ways to read labels off a space has.
func (s Space) readings() int {
	if len(s.Labels) > 0 && s.Reading == "" {
		return 2
	}
	return 1
}

var key = noise.KeyFromSeed(1)

func stream(t *rapid.T) func() *noise.Stream {
	seed := rapid.Uint64().Draw(t, "stream")
	return func() *noise.Stream { return key.Stream("search", seed) }
}

func TestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n, r := spaces().Draw(t, "space"), rapid.IntRange(0, 12).Draw(t, "sets"), stream(t)
		list, err := s.First(n, r())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.check(list, s.MaxShots); err != nil {
			t.Fatal(err)
		}
		for i := range len(s.Instructions) + 1 { // zero-shot, with each instruction
			if !slices.ContainsFunc(list, func(p Point) bool { return len(p.Set) == 0 && p.Instruction == i }) {
				t.Fatalf("instruction %d without examples is not proposed", i)
			}
		}
		if limit := max(n+1, len(s.Instructions)+1); len(list) > limit*s.readings() {
			t.Fatalf("%d points, at most %d sets were asked for", len(list), limit)
		}
		for _, p := range list {
			if err := s.even(p); s.Beside == (Span{}) && err != nil { // of two kinds, one may lack labels
				t.Fatal(err)
			}
		}
		again, err := s.First(n, r())
		if err != nil || !reflect.DeepEqual(again, list) {
			t.Fatalf("the same stream proposes other points: %v", err)
		}
	})
}

// even checks that a set at random has the size it should, and that labels are as even as
// the pool allows.
func (s Space) even(p Point) error {
	have, of := map[string]int{}, map[string]int{}
	for _, e := range s.Pool {
		have[e.Output]++
	}
	for _, i := range p.Set {
		of[s.Pool[i].Output]++
	}
	if len(p.Set) > 0 && len(p.Set) < min(s.Shots, s.MaxShots, len(s.Pool)) {
		return fmt.Errorf("%+v has fewer than %d examples", p, s.Shots)
	}
	for _, a := range s.Labels {
		for _, b := range s.Labels {
			if of[a] > of[b]+1 && of[b] < have[b] {
				return fmt.Errorf("%+v has %d of %s and %d of %s", p, of[a], a, of[b], b)
			}
		}
	}
	return nil
}

func TestNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := spaces().Draw(t, "space")
		winner, n, r := points(s).Draw(t, "winner"), rapid.IntRange(0, 12).Draw(t, "sets"), stream(t)
		before := slices.Clone(winner.Set)
		list := s.Next(winner, n, r())
		if err := s.check(list, s.MaxShots); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(list, winner.equal) {
			t.Fatalf("%+v won, and is not among the next", winner)
		}
		if len(list) > max(1, n)*s.readings() {
			t.Fatalf("%d points, at most %d sets were asked for", len(list), n)
		}
		for _, p := range list {
			if d := len(p.Set) - len(winner.Set); d > 1 || d < -1 {
				t.Fatalf("%+v is no variation of %+v", p, winner)
			}
		}
		if !slices.Equal(winner.Set, before) {
			t.Fatal("varying a point changes it")
		}
		if !reflect.DeepEqual(s.Next(winner, n, r()), list) {
			t.Fatal("the same stream proposes other points")
		}
	})
}

// unread is a point without how its labels are read off.
func unread(p Point) Point {
	p.Calibrated = false
	return p
}

// TestPlayOff: the latest winners play, that of the first round, and no examples, with the task's
// instruction or the latest winner's.
func TestPlayOff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := spaces().Draw(t, "space")
		winners, n := rapid.SliceOfN(points(s), 1, 12).Draw(t, "winners"), rapid.IntRange(1, 12).Draw(t, "sets")
		list := s.final(winners, n)
		if err := s.check(list, s.MaxShots); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(list, func(p Point) bool { return len(p.Set) == 0 && p.Instruction == 0 }) {
			t.Fatal("the task without examples does not play")
		}
		expect.Max(t, "number of list", len(list), (max(n, 2)+2)*s.readings())
		expect.True(t, "slices.ContainsFunc(list, winners[len(winners)-1].equal)", slices.ContainsFunc(list, winners[len(winners)-1].equal), list)
		expect.True(t, "slices.ContainsFunc(list, winners[0].equal)", slices.ContainsFunc(list, winners[0].equal), list)
		bare := s.none()
		bare.Instruction = winners[len(winners)-1].Instruction
		for _, p := range list {
			if len(p.Set)+p.Instruction > 0 && !unread(p).equal(bare) && !slices.ContainsFunc(winners, func(w Point) bool { return w.Instruction == p.Instruction && slices.Equal(w.Set, p.Set) }) {
				t.Fatalf("%+v plays, and never won", p)
			}
		}
	})
}

// TestPropose: anyone who wins, every round of a schedule has points of the space, the last
// winner is among those after the heats, and the rounds of equal winners are equal.
func TestPropose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := spaces().Draw(t, "space")
		at := Schedule{
			Rounds: rapid.Int64Range(1, 9).Draw(t, "rounds"), ExplorationRounds: rapid.Int64Range(0, 3).Draw(t, "heats"),
			First: rapid.IntRange(1, 6).Draw(t, "first"), Next: rapid.IntRange(1, 6).Draw(t, "next"),
			Finalists: rapid.IntRange(0, 4).Draw(t, "finalists"),
		}
		rounds := at.Rounds
		if at.Finalists > 0 {
			rounds++
		}
		var winners []Point
		for round := range rounds {
			list, err := s.Propose(at, winners, key.Stream("search", uint64(round)))
			if err != nil || len(list) == 0 {
				t.Fatalf("round %d has %d points: %v", round, len(list), err)
			}
			if err := s.check(list, s.MaxShots); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if round >= max(1, at.ExplorationRounds) && !slices.ContainsFunc(list, winners[round-1].equal) {
				t.Fatalf("round %d leaves the winner out", round)
			}
			if round == at.Rounds && round > 0 && !slices.ContainsFunc(list, winners[0].equal) {
				t.Fatal("the first winner is not in the last round")
			}
			again, err := s.Propose(at, slices.Clone(winners), key.Stream("search", uint64(round)))
			if err != nil || !reflect.DeepEqual(again, list) {
				t.Fatalf("round %d is another one when it is asked for again: %v", round, err)
			}
			winners = append(winners, list[rapid.IntRange(0, len(list)-1).Draw(t, "winner")])
		}
	})
}

// TestVariations: all kinds of them come, so that any set can be reached.
func TestVariations(t *testing.T) {
	s := Space{Instructions: []string{"One."}, Shots: 3, MaxShots: 4}
	for i := range 9 {
		s.Pool = append(s.Pool, prompt.Example{Input: fmt.Sprint(i), Output: "x"})
	}
	winner := Point{Set: []int{0, 1, 2}}
	found := map[string]int{}
	r := key.Stream("variations")
	const tries = 2000
	for range tries {
		p := s.vary(winner, r)
		sorted := slices.Sorted(slices.Values(p.Set))
		switch {
		case p.equal(winner):
			found["none"]++
		case p.Instruction != 0:
			found["instructed"]++
		case len(p.Set) > 3:
			found["added"]++
		case len(p.Set) < 3:
			found["dropped"]++
		case slices.Equal(sorted, winner.Set):
			found["swapped"]++
		default:
			found["exchanged"]++
		}
	}
	// The key is fixed: the shares are what they are, or the code has changed.
	for what, minimum := range map[string]int{"instructed": 50, "added": 150, "dropped": 100, "swapped": 100, "exchanged": 400} {
		t.Run(what, func(t *testing.T) {
			if found[what] < minimum {
				t.Errorf("%d of %d variations are %s", found[what], tries, what)
			}
		})
	}
}

// TestPrompts: what is proposed can be asked, and is what the point says.
func TestPrompts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := spaces().Draw(t, "space")
		kind := prompt.Classify
		if len(s.Labels) == 0 {
			kind = prompt.Extract
		}
		task := prompt.Task{Name: "test", Kind: kind, Labels: s.Labels}.WithDefaults()
		list := []Point{points(s).Draw(t, "point")}
		for i, p := range s.Prompts(list) {
			if err := p.Check(task); err != nil {
				t.Fatal(err)
			}
			expect.Len(t, "p.Examples", p.Examples, len(list[i].Set))
			expect.Equal(t, "p.Calibrated", p.Calibrated, list[i].Calibrated)
			expect.Equal(t, "p.Instruction != ''", p.Instruction != "", list[i].Instruction > 0)
			for at, e := range p.Examples {
				if e != s.Pool[list[i].Set[at]] {
					t.Fatalf("example %d of %+v is another one", at, list[i])
				}
			}
		}
	})
}

// FuzzPoint: whatever a journal has, a point that is valid can be spelt out and varied, and
// comes back from it as it was.
func FuzzPoint(f *testing.F) {
	f.Add([]byte(`{"set":[0,1],"instruction":1,"calibrated":true}`))
	f.Add([]byte(`{"set":[2,2,2]}`))
	f.Add([]byte(`{"set":[-1]}`))
	f.Add([]byte(`{"set":null,"instruction":-9223372036854775808}`))
	f.Add([]byte(`{"set":[9223372036854775807],"instruction":3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p Point
		if json.Unmarshal(data, &p) != nil {
			return
		}
		s := Space{Instructions: []string{"One."}, Labels: []string{"a", "b"}, Shots: 2, MaxShots: 3}
		for i := range 4 {
			s.Pool = append(s.Pool, prompt.Example{Input: fmt.Sprint(i), Output: s.Labels[i%2]})
		}
		plain := s
		plain.Labels = nil
		if p.Calibrated && plain.Valid(p) {
			t.Errorf("%+v is valid where there is nothing to calibrate", p)
		}
		if !s.Valid(p) {
			return
		}
		if got := s.Prompt(p); len(got.Examples) != len(p.Set) {
			t.Errorf("%+v is spelt out as %+v", p, got)
		}
		for _, next := range s.Next(p, 5, key.Stream("fuzz")) {
			if !s.Valid(next) {
				t.Errorf("%+v is varied to %+v", p, next)
			}
		}
		raw, err := json.Marshal(p)
		var back Point
		if err == nil {
			err = json.Unmarshal(raw, &back)
		}
		if err != nil || !back.equal(p) {
			t.Errorf("%+v comes back as %+v: %v", p, back, err)
		}
	})
}

// TestKinds: a set at random has examples of one kind alone, and about one in four has those
// beside: fewer than 100 or more than 400 of 1000 come once in 10^20 times or less.
func TestKinds(t *testing.T) {
	s := Space{Shots: 2, MaxShots: 4, Beside: Span{From: 6, To: 10}}
	for i := range 14 {
		s.Pool = append(s.Pool, prompt.Example{Input: fmt.Sprint("input ", i), Output: "output"})
	}
	beside := 0
	for seed := range uint64(1000) {
		set, err := s.set(3, key.Stream("kinds", seed))
		if err != nil || len(set) != 3 {
			t.Fatal(set, err)
		}
		n := 0
		for _, i := range set {
			if i >= 6 && i < 10 {
				n++
			}
		}
		switch n {
		case 0:
		case 3:
			beside++
		default:
			t.Fatalf("%v has both kinds", set)
		}
	}
	if beside < 100 || beside > 400 {
		t.Errorf("%d of 1000 sets are of the kind beside", beside)
	}
}
