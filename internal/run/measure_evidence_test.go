package run

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// sentences is an encoder: each text has a direction of its own.
type sentences struct{ name string }

func (s sentences) Embed(_ context.Context, texts []string) ([][]float32, error) {
	var out [][]float32
	for _, text := range texts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(text))
		a := float64(h.Sum64()>>11) / (1 << 53) * 2 * math.Pi
		out = append(out, []float32{float32(math.Cos(a)), float32(math.Sin(a))})
	}
	return out, nil
}
func (sentences) Dimension() int { return 2 }
func (s sentences) Name() string { return s.name }
func (sentences) Close() error   { return nil }

func (s sentences) trusted(t *testing.T) lm.TrustedEmbedder {
	t.Helper()
	e, err := lm.TrustEmbedder(s, lm.InProcess)
	must(t, err)
	return e
}

// evidenceOptions measure one prompt in each way to use evidence.
func (p *place) evidenceOptions(t *testing.T, m *hashModel) MeasureOptions {
	t.Helper()
	o := p.measureOptions(t, m)
	o.Env.Encoder = sentences{"toy@1"}.trusted(t)
	o.Plan.Evidence = &evidence.Evidence{Encoder: "toy@1", Labels: o.Plan.Task.Labels}
	for l := range o.Plan.Task.Labels {
		a := float64(l)
		o.Plan.Evidence.Vectors = append(o.Plan.Evidence.Vectors, []float64{5 * math.Cos(a), 5 * math.Sin(a)})
	}
	o.Plan.Prompts = nil
	for _, u := range []prompt.Use{{How: prompt.Combined, Weight: 2}, {How: prompt.Hinted}, {How: prompt.Alone}} {
		o.Plan.Prompts = append(o.Plan.Prompts, plan.NamedPrompt{Name: string(u.How), Prompt: prompt.Prompt{Evidence: u}})
	}
	o.Plan.Measure.Prompts = len(o.Plan.Prompts)
	return o
}

// TestMeasureEvidence: all ways are measured with the evidence of the plan. A run that was killed at any point continues
// with the same evidence to the same bytes and one charge, and is refused with other evidence or another encoder.
func TestMeasureEvidence(t *testing.T) {
	p := newPlace(t)
	q := p.fresh(t)
	m := newHashModel()
	o := q.evidenceOptions(t, m)
	a := q.measure(o, m, nil)
	_, err := a.run(t.Context())
	must(t, err)
	want, log := outcome(t, o.Dir), a.points.log
	q.keepsSecrets(t, o.Dir)
	begun := 0
	for point := 1; point <= len(log); point += 3 {
		q := p.fresh(t)
		m := newHashModel()
		o := q.evidenceOptions(t, m)
		if _, err := q.measure(o, m, killAt(point)).run(t.Context()); !errors.Is(err, errKilled) {
			t.Fatalf("%d %s: %v", point, log[point-1], err)
		}
		charged := len(chargesOf(t, o.Env.Ledger, o.Data.Fingerprint()))
		if charged > 0 {
			begun++
			for name, other := range map[string]MeasureOptions{
				"other evidence":  q.evidenceOptions(t, m),
				"another encoder": q.evidenceOptions(t, m),
			} {
				t.Run(name, func(t *testing.T) {
					if name == "other evidence" {
						other.Plan.Evidence.Vectors[0][1] += 1e-9
					} else {
						other.Env.Encoder = sentences{"toy@2"}.trusted(t)
					}
					if _, err := q.measure(other, m, nil).run(t.Context()); err == nil || !strings.Contains(err.Error(), "another plan") && !strings.Contains(err.Error(), "not comparable") {
						t.Errorf("%d %s: %s: %v", point, log[point-1], name, err)
					}
				})
			}
		}
		if _, err := q.measure(o, m, nil).run(t.Context()); err != nil {
			t.Fatalf("%d %s, resuming: %v", point, log[point-1], err)
		}
		q.completed(t, o.Dir, chargesOf(t, o.Env.Ledger, o.Data.Fingerprint()), want)
	}
	if begun == 0 {
		t.Error("no run was charged and killed: nothing was tested")
	}
}

// TestMeasureEvidenceRefusals: all before anything is charged.
func TestMeasureEvidenceRefusals(t *testing.T) {
	for want, change := range map[string]func(*MeasureOptions){
		"none was opened":   func(o *MeasureOptions) { o.Env.Encoder = lm.TrustedEmbedder{} },
		"not comparable":    func(o *MeasureOptions) { o.Env.Encoder = sentences{"toy@2"}.trusted(t) },
		"there is none":     func(o *MeasureOptions) { o.Plan.Evidence = nil },
		"no prompt uses it": func(o *MeasureOptions) { o.Plan.Prompts = measurementOf().Prompts; o.Plan.Measure.Prompts = 2 },
		"other labels":      func(o *MeasureOptions) { o.Plan.Evidence.Labels = []string{"red", "mauve"} },
		"differ in length":  func(o *MeasureOptions) { o.Plan.Evidence.Vectors[0] = []float64{1} },
		"has room for 4096": func(o *MeasureOptions) {
			o.Plan.Prompts[1].Prompt.Examples = nil
			for i := range 200 {
				o.Plan.Prompts[1].Prompt.Examples = append(o.Plan.Prompts[1].Prompt.Examples, prompt.Example{Input: fmt.Sprint(i), Output: "red"})
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			p := newPlace(t)
			o := p.evidenceOptions(t, newHashModel())
			change(&o)
			if _, err := Measure(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
			if got := chargesOf(t, p.ledger, o.Data.Fingerprint()); len(got) != 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestMeasureEvidenceAlone: no model is asked, so that one without scores will do, and no step of it is taken.
func TestMeasureEvidenceAlone(t *testing.T) {
	p := newPlace(t)
	m := newHashModel()
	m.info.Can.Top, m.info.Can.All = false, false
	m.fail = func(int) error { return errors.New("the model is asked") }
	o := p.evidenceOptions(t, m)
	o.Plan.Prompts, o.Plan.Measure.Prompts = o.Plan.Prompts[2:], 1
	done, err := Measure(t.Context(), o)
	must(t, err)
	if len(done.Shares) != 1 || !done.Certificate {
		t.Errorf("%+v", done)
	}
}

// fingerprintEncoder has a fingerprint, so that its vectors may be kept.
type fingerprintEncoder struct{ sentences }

func (fingerprintEncoder) Fingerprint() string { return "sha256:sentences" }

// TestDrawnRecordsAreNotKept: a measurement reads the records that it drew by evidence and keeps no vector of them: files
// would show who was drawn after the key of the draw is gone.
func TestDrawnRecordsAreNotKept(t *testing.T) {
	p := newPlace(t)
	o := p.evidenceOptions(t, newHashModel())
	o.Plan.Prompts, o.Plan.Measure.Prompts = o.Plan.Prompts[2:], 1
	var err error
	o.Env.Encoder, err = lm.TrustEmbedder(fingerprintEncoder{sentences{"toy@1"}}, lm.InProcess)
	must(t, err)
	_, err = Measure(t.Context(), o)
	must(t, err)
	must(t, filepath.WalkDir(p.dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".vectors") {
			t.Errorf("%s is kept", path)
		}
		return err
	}))
}
