package sums

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// labelledVector is a unit as the slow computation has it.
type labelledVector struct {
	label  int
	vector []float32
}

// crowd has records of three labels in two parts, one label by another name and some that the task does not
// have, and units of one record or, for several, of records that are alike.
func crowd(each int, seed uint64) (*scene, []labelledVector) {
	const width = 6
	random := rand.New(rand.NewPCG(seed, 9))
	s := newScene(width, 2)
	var all []labelledVector
	for _, is := range []struct {
		name  string
		label int
	}{{"label 0", 0}, {"label 1", 1}, {"another name", 1}, {"label 2", 2}, {"unknown", -1}, {"", -1}} {
		for i := range 12 {
			v := normal(width, random)
			v[0] += float32(is.label) // so that labels differ
			wide := make([]float64, width)
			for j, x := range v {
				wide[j] = float64(x)
			}
			v = ofLengthOne(wide)
			var records []seal.Record
			for range each {
				records = append(records, s.record(is.name, v))
			}
			s.unit(i%2, records...)
			all = append(all, labelledVector{is.label, v})
		}
	}
	return s, all
}

// descend is the whole computation in real numbers, without noise.
func descend(records []labelledVector, s Sums, k, width int) [][]float64 {
	vectors := make([][]float64, k)
	for l := range vectors {
		vectors[l] = make([]float64, width)
	}
	for range s.Sums {
		sum := make([][]float64, k)
		for l := range sum {
			sum[l] = make([]float64, width)
		}
		for _, r := range records {
			for l, c := range slowly(r.label, r.vector, vectors, s.Sums) {
				for i, x := range r.vector {
					sum[l][i] += c * float64(x)
				}
			}
		}
		for l := range vectors {
			factor := s.Step / float64(s.Size)
			if s.Sums == 1 {
				length := 0.
				for _, x := range sum[l] {
					length += x * x
				}
				factor = 1 / (0.06 * math.Sqrt(length))
			}
			for i, x := range sum[l] {
				vectors[l][i] += factor * x
			}
		}
	}
	return vectors
}

// TestEvidenceIsThatOfTheDefinition: with hardly any noise, evidence is that of a slow computation in real
// numbers: of all parts, of the declared size, and with a unit's records counted as one.
func TestEvidenceIsThatOfTheDefinition(t *testing.T) {
	for _, sums := range []int64{1, 5} {
		for _, each := range []int{1, 3} {
			data, records := crowd(each, 1)
			s := settings(sums, 1e-7)
			s.Each = each
			out := released(t, data.options(t, 3, s))
			want := descend(records, s, 3, 6)
			for l, v := range want {
				for i, x := range v {
					if got := out.Evidence.Vectors[l][i]; math.Abs(got-x) > 0.02 {
						t.Errorf("%d sums, %d records of a unit, label %d, number %d: %v, not %v", sums, each, l, i, got, x)
					}
				}
			}
			expect.Equal(t, "out.Event.String", out.Event.String(), s.Event().String())
			expect.Equal(t, "out.Evidence.Encoder", out.Evidence.Encoder, toyName)
			expect.Equal(t, "out.Evidence.Sums", out.Evidence.Sums, int(sums))
			expect.Equal(t, "out.Evidence.Sigma", out.Evidence.Sigma, s.Sigma)
			if err := out.Evidence.Suits(labels(3)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestSmallPools: none, and one, have evidence, too.
func TestSmallPools(t *testing.T) {
	for _, sums := range []int64{1, 5} {
		s := newScene(4, 1)
		if out := released(t, s.options(t, 2, settings(sums, 1))); out.Evidence.Check() != nil {
			t.Error("nothing comes of no records")
		}
		s.unit(0, s.record("unknown", axis(4, 0, 1)))
		out := released(t, s.options(t, 2, settings(sums, 1e-9)))
		for _, v := range out.Evidence.Vectors {
			// Directions of a row that has noise alone are of no label.
			if sums > 1 && (math.Abs(v[0]) > 1e-5 || math.Abs(v[1]) > 1e-5) {
				t.Errorf("a record without a label of the task adds %v", v)
			}
		}
	}
}

// TestReplay: the same bits for the same key, on any number of processors; another key, other settings and
// another task have noise of their own.
func TestReplay(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	data := newScene(5, 1)
	for i := range 1200 {
		data.unit(0, data.record(labels(3)[i%3], normal(5, random)))
	}
	for _, sums := range []int64{1, 4} {
		o := data.options(t, 3, settings(sums, 2))
		s := summer(t, o)
		first, err := s.Evidence(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Evidence(t.Context())
		if err != nil || !reflect.DeepEqual(first, again) {
			t.Error("asked again it gives something else")
		}
		for _, processors := range []int{1, 2, 7} {
			before := runtime.GOMAXPROCS(processors)
			again := released(t, o)
			runtime.GOMAXPROCS(before)
			if !reflect.DeepEqual(first, again) {
				t.Errorf("%d processors give something else", processors)
			}
		}
		o.Key = noise.KeyFromSeed(2)
		if reflect.DeepEqual(first, released(t, o)) {
			t.Error("another key gives the same")
		}
	}
}

// TestFieldsThatAreSetLater: what was not checked does not run.
func TestFieldsThatAreSetLater(t *testing.T) {
	data, _ := crowd(1, 1)
	for name, change := range map[string]func(*Summer){
		"noise":   func(s *Summer) { s.Sums.Sigma = 0 },
		"encoder": func(s *Summer) { s.Encoder = lm.TrustedEmbedder{} },
		"pool":    func(s *Summer) { s.Pool = foreign{data.pool} },
		"task":    func(s *Summer) { s.Task.Labels = nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := summer(t, data.options(t, 3, settings(1, 1)))
			change(s)
			if _, err := s.Evidence(t.Context()); err == nil {
				t.Error("it runs")
			}
		})
	}
	o := data.options(t, 3, settings(1, 1))
	s := summer(t, o)
	o.Task.Labels[0] = "label 1"
	if out, err := s.Evidence(t.Context()); err != nil || out.Evidence.Labels[0] != "label 0" {
		t.Errorf("the task is the caller's: %v", err)
	}
}

// TestCancelled: a run that is ended gives nothing.
func TestCancelled(t *testing.T) {
	data, _ := crowd(1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out, err := summer(t, data.options(t, 3, settings(4, 1))).Evidence(ctx); !errors.Is(err, context.Canceled) || out.Evidence.Vectors != nil {
		t.Errorf("%v", err)
	}
	data.encoder.fails = errors.New("the encoder is closed")
	if _, err := summer(t, data.options(t, 3, settings(4, 1))).Evidence(t.Context()); !errors.Is(err, data.encoder.fails) {
		t.Errorf("%v", err)
	}
}

// foreign embeds a pool, and would decide who is added up.
type foreign struct{ *pool }

// TestRefusals: all before a record is read.
func TestRefusals(t *testing.T) {
	data, _ := crowd(1, 1)
	fine := data.options(t, 3, settings(4, 1))
	for name, change := range map[string]func(*Options){
		"no encoder":             func(o *Options) { o.Encoder = lm.TrustedEmbedder{} },
		"no name of one":         func(o *Options) { o.Sums.Encoder = "" },
		"another encoder":        func(o *Options) { o.Sums.Encoder = "toy@111111111111" },
		"no key":                 func(o *Options) { o.Key = noise.Key{} },
		"no pool":                func(o *Options) { o.Pool = nil },
		"no sum":                 func(o *Options) { o.Sums.Sums = 0 },
		"a negative number":      func(o *Options) { o.Sums.Sums = -1 },
		"many sums":              func(o *Options) { o.Sums.Sums = MaxSums + 1 },
		"no noise":               func(o *Options) { o.Sums.Sigma = 0 },
		"negative noise":         func(o *Options) { o.Sums.Sigma = -1 },
		"infinite noise":         func(o *Options) { o.Sums.Sigma = math.Inf(1) },
		"no number for noise":    func(o *Options) { o.Sums.Sigma = math.NaN() },
		"noise beyond the grid":  func(o *Options) { o.Sums.Sigma = 1e6 },
		"no size":                func(o *Options) { o.Sums.Size = 0 },
		"a negative size":        func(o *Options) { o.Sums.Size = -5 },
		"no record of a unit":    func(o *Options) { o.Sums.Each = 0 },
		"many records of a unit": func(o *Options) { o.Sums.Each = maxEach + 1 },
		"no adjacency":           func(o *Options) { o.Sums.Adjacency = "" },
		"another adjacency":      func(o *Options) { o.Sums.Adjacency = privacy.Adjacency("none") },
		"no step":                func(o *Options) { o.Sums.Step = 0 },
		"a step of one sum":      func(o *Options) { o.Sums.Sums = 1 },
		"a negative step":        func(o *Options) { o.Sums.Step = -1 },
		"an infinite step":       func(o *Options) { o.Sums.Step = math.Inf(1) },
		"no number for a step":   func(o *Options) { o.Sums.Step = math.NaN() },
		"no labels":              func(o *Options) { o.Task.Labels = nil },
		"one label":              func(o *Options) { o.Task.Labels = labels(1) },
		"too many labels":        func(o *Options) { o.Task.Labels = labels(1001) },
		"no dimension":           func(o *Options) { o.Encoder = trust(t, &toy{}) },
		"a label twice":          func(o *Options) { o.Task.Labels = []string{"a", "b", "a"} },
		"written outputs":        func(o *Options) { o.Task.Kind = prompt.Generate },
	} {
		o := fine
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s is allowed", name)
		}
	}
	o := fine
	o.Pool = foreign{data.pool}
	if _, err := New(o); !errors.Is(err, private.ErrForeign) {
		t.Errorf("a foreign pool: %v", err)
	}
	if _, err := New(fine); err != nil {
		t.Error(err)
	}
}

// TestSumsFor: more sums where there are more records for the noise, that cost no more than one, and begin at names.
func TestSumsFor(t *testing.T) {
	for _, c := range []struct {
		size      int64
		sigma     float64
		adjacency privacy.Adjacency
		sums      int64
		way       float64
	}{
		{1, 4, privacy.AddRemove, 4, 0.225},
		{600, 4, privacy.AddRemove, 4, 135},
		{666, 4, privacy.AddRemove, 4, 149.85},
		{667, 4, privacy.AddRemove, 8, 150.075},
		{1333, 4, privacy.AddRemove, 8, 299.925},
		{1334, 4, privacy.AddRemove, 16, 300.15},
		{4444, 4, privacy.AddRemove, 16, 999.9},
		{4445, 4, privacy.AddRemove, 32, 1000.125},
		{10_000_000, 4, privacy.AddRemove, 32, 1600},
		{math.MaxInt64, 1e-9, privacy.AddRemove, 32, 1600},
		{5452, 13, privacy.AddRemove, 16, 0.9 * 5452 / 13},
		// Exchanged units have twice the noise.
		{1333, 4, privacy.ReplaceOne, 4, 149.9625},
		{1334, 4, privacy.ReplaceOne, 8, 150.075},
		{4445, 4, privacy.ReplaceOne, 16, 500.0625},
	} {
		before := Sums{Encoder: toyName, Size: c.size, Adjacency: c.adjacency, Each: 2}
		s := before.For(c.sigma)
		if err := s.Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		at := expect.At(t, "%+v", c)
		expect.Equal(at, "s.Sums", s.Sums, c.sums)
		expect.Max(at, "math.Abs(s.Step*float64(s.Sums)-c.way)", math.Abs(s.Step*float64(s.Sums)-c.way), 1e-9)
		expect.Equal(at, "s.Size", s.Size, c.size)
		expect.Equal(at, "s.Each", s.Each, 2)
		expect.Equal(at, "s.Names", s.Names, maxNames)
		expect.Equal(at, "s.Adjacency", s.Adjacency, c.adjacency)
		// N/σ² is what N sums cost.
		if cost := ratio(float64(s.Sums), s.Sigma, s.Sigma); cost.Cmp(ratio(1, c.sigma, c.sigma)) > 0 {
			t.Errorf("%+v: %d sums cost more than one", c, s.Sums)
		}
		if s.Sigma > c.sigma*math.Sqrt(float64(s.Sums))*(1+1e-12) {
			t.Errorf("%+v: σ = %v", c, s.Sigma)
		}
	}
	if err := (Sums{Encoder: toyName, Size: 10, Adjacency: privacy.AddRemove, Each: 1}).For(math.NaN()).Check(); err == nil {
		t.Error("noise of no scale has settings")
	}
}
