package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/sums"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// hashEncoder has a direction in the plane for each text.
type hashEncoder struct {
	name  string
	print string
	asked int
	// fail, if set, is asked before texts are read.
	fail func() error
}

func (e *hashEncoder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	e.asked++
	if e.fail != nil {
		if err := e.fail(); err != nil {
			return nil, err
		}
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(text)) // never fails
		sin, cos := math.Sincos(float64(h.Sum64()%1000) / 1000 * 2 * math.Pi)
		out[i] = []float32{float32(sin), float32(cos)}
	}
	return out, nil
}
func (*hashEncoder) Dimension() int        { return 2 }
func (e *hashEncoder) Name() string        { return e.name }
func (e *hashEncoder) Fingerprint() string { return e.print }
func (*hashEncoder) Close() error          { return nil }

// trusted is the encoder for records; of none there is none.
func (e *hashEncoder) trusted() lm.TrustedEmbedder {
	if e == nil {
		return lm.TrustedEmbedder{}
	}
	trusted, err := lm.TrustEmbedder(e, lm.InProcess)
	if err != nil {
		panic(err)
	}
	return trusted
}

// newEvidencePlace is a place of runs in which all records are added up, and choose then.
func newEvidencePlace(t testing.TB) *place {
	p := newChoosingPlace(t)
	p.encoder = &hashEncoder{name: "hash"}
	p.made.Evidence = &plan.Evidence{
		Sums:    sums.Sums{Encoder: "hash", Sums: 2, Sigma: 1.5, Step: 20, Size: 40, Adjacency: privacy.AddRemove, Each: 1},
		Weights: []float64{1}, Alone: true,
	}
	return p
}

// TestEvidence: records are added up once, after the charge and all texts and before they choose; what comes
// out is in the folder and in the result, now and when the folder is read again.
func TestEvidence(t *testing.T) {
	p := newEvidencePlace(t)
	o := p.options(t, p.plan(), newHashModel())
	result := p.finish(t, o)
	entries, _, err := readJournal(filepath.Join(o.Dir, journalFile))
	must(t, err)
	var order []state
	for _, e := range entries {
		if s := e.State; s == reserved || s == released || s == summed || s == won {
			order = append(order, s)
		}
	}
	if got, want := slices.Compact(order), []state{reserved, released, summed, won}; !slices.Equal(got, want) {
		t.Errorf("the run did %v, want %v", got, want)
	}
	file, err := evidence.Read(filepath.Join(o.Dir, evidence.File))
	must(t, err)
	at := expect.At(t, "the result")
	expect.True(at, "result.Evidence other than nil", result.Evidence != nil)
	expect.True(at, "result.Evidence equal to file", reflect.DeepEqual(result.Evidence, file), result.Evidence, file)
	expect.True(at, "evidence.File in result.Files", slices.Contains(result.Files, evidence.File), result.Files)
	s := o.Plan.Evidence
	expect.True(t, "file.Labels equal to o.Plan.Task.Labels", slices.Equal(file.Labels, o.Plan.Task.Labels), file.Labels, o.Plan.Task.Labels)
	expect.Equal(t, "file.Encoder", file.Encoder, s.Encoder)
	expect.Equal(t, "file.Sums", int64(file.Sums), s.Sums.Sums)
	expect.Equal(t, "file.Sigma", file.Sigma, s.Sigma)
	got := charges(t, o)
	expect.Len(t, "charges", got, 1)
	expect.Equal(t, "got[0].Event", got[0].Event, o.Plan.Event().String())
	expect.Contains(t, "got[0].Event", got[0].Event, s.Event().String())
	asked := p.encoder.asked
	again, err := p.runner(o, osDisk{}).do(t.Context())
	must(t, err)
	at = expect.At(t, "a finished run")
	expect.True(at, "again.Finished", again.Finished)
	expect.True(at, "again.Evidence equal to result.Evidence", reflect.DeepEqual(again.Evidence, result.Evidence), again.Evidence, result.Evidence)
	expect.Equal(at, "p.encoder.asked", p.encoder.asked, asked)
	p.keepsSecrets(t, o.Dir)
}

// TestRecordsAreEncodedOnce: a second run does not ask the encoder, neither to add records up nor to choose by them,
// and comes to the same; other records in the same place are encoded.
func TestRecordsAreEncodedOnce(t *testing.T) {
	p := newEvidencePlace(t)
	p.encoder.print = "sha256:hash"
	run := func() (*evidence.Evidence, int) {
		t.Helper()
		q, before := p.fresh(t), p.encoder.asked
		return q.finish(t, q.options(t, q.plan(), newHashModel())).Evidence, p.encoder.asked - before
	}
	first, asked := run()
	if asked == 0 {
		t.Fatal("nothing was encoded")
	}
	if second, asked := run(); asked != 0 || !reflect.DeepEqual(first, second) {
		t.Errorf("the second run asked the encoder %d times, and has %+v, not %+v", asked, second, first)
	}
	p.writeData(t, 21)
	if third, asked := run(); asked == 0 || reflect.DeepEqual(first, third) {
		t.Errorf("with other records it was asked %d times", asked)
	}
}

// TestEvidenceIsCertified: with the real accountants, evidence is within the ε of the certificate, which says that
// all records were read, and signs the file.
func TestEvidenceIsCertified(t *testing.T) {
	p := newEvidencePlace(t)
	made := p.plan()
	costs, err := accountant.Auto{}.Epsilon(made.Event(), made.Adjacency, made.Delta)
	must(t, err)
	made.Epsilon = 1.01 * costs.Upper
	o := p.options(t, made, newHashModel())
	l, err := ledger.Open(t.Context(), filepath.Join(p.dir, "ledger.db"), ledger.Options{Create: true})
	must(t, err)
	defer l.Close()
	o.Env.Ledger = l
	_, err = Do(t.Context(), o)
	must(t, err)
	verify := func() *certificate.Report {
		report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: accountant.Auto{}, Strict: true})
		must(t, err)
		return report
	}
	report := verify()
	if !report.OK {
		t.Fatalf("the certificate does not hold: %+v", report.Failures())
	}
	c := report.Predicate
	expect.True(t, "c.Events equal to []string{made.Event().String()}", slices.Equal(c.Events, []string{made.Event().String()}), c.Events, []string{made.Event().String()})
	expect.True(t, "certificate.SampleAll in c.Samplers", slices.Contains(c.Samplers, certificate.SampleAll), c.Samplers)
	expect.True(t, "certificate.Sampler(made.Choose.Draw.Kind) in c.Samplers", slices.Contains(c.Samplers, certificate.Sampler(made.Choose.Draw.Kind)), c.Samplers)
	if !strings.Contains(c.Proof, made.Evidence.Proof()) {
		t.Errorf("the proof is %s", c.Proof)
	}
	name := filepath.Join(o.Dir, evidence.File)
	data, err := os.ReadFile(name)
	must(t, err)
	must(t, os.WriteFile(name, append(data, '\n'), 0o600))
	if verify().OK {
		t.Errorf("a changed %s is certified", evidence.File)
	}
}

// TestEvidenceKilled kills a run, or cuts its power, at each point around the sum of all records. It continues to the
// same bytes: another sum with the same noise would take the noise off.
func TestEvidenceKilled(t *testing.T) {
	p := newEvidencePlace(t)
	want, log := p.reference(t)
	at := slices.Index(log, "ask the encoder")
	if at < 4 || len(log) < at+12 {
		t.Fatalf("the encoder is first asked at %d of %d points", at, len(log))
	}
	expect.Contains(t, "what follows the first request to the encoder", strings.Join(log[at:at+6], "\n"), journalFile)
	for point := at - 2; point <= at+8; point++ {
		for _, power := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %s power cut %v", point, log[point-1], power), func(t *testing.T) {
				err := p.disturb(t, want, killAt(point), func(a *attempt, o Options) {
					if power {
						a.disk.powerCut(t, o.Dir)
					}
				})
				if !errors.Is(err, errKilled) {
					t.Errorf("the run ended with %v before it was killed", err)
				}
			})
		}
	}
}

// TestEvidenceNeedsItsEncoder: without an encoder, or with another one, nothing is charged or written, and the
// encoder reads nothing.
func TestEvidenceNeedsItsEncoder(t *testing.T) {
	for name, encoder := range map[string]*hashEncoder{"none": nil, "another": {name: "other"}, "no name": {}} {
		t.Run(name, func(t *testing.T) {
			p := newEvidencePlace(t)
			p.encoder = encoder
			m := newHashModel()
			o := p.options(t, p.plan(), m)
			_, err := p.runner(o, osDisk{}).do(t.Context())
			if err == nil || !strings.Contains(err.Error(), "the plan adds records up by the encoder hash") {
				t.Errorf("%v", err)
			}
			got := charges(t, o)
			expect.Len(t, "charges", got, 0)
			expect.Equal(t, "m.steps", m.steps, 0)
			if encoder != nil {
				expect.Equal(t, "encoder.asked", encoder.asked, 0)
			}
			if left, err := os.ReadDir(o.Dir); err == nil && len(left) != 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// TestEvidenceOfAnotherJournal: evidence in a journal that the plan would not have made is refused before records
// are asked about it or anything is released.
func TestEvidenceOfAnotherJournal(t *testing.T) {
	good := evidence.Evidence{Encoder: "hash", Labels: []string{"red", "blue"}, Sums: 2, Sigma: 1.5, Vectors: [][]float64{{1, 0}, {0, 1}}}
	with := func(change func(*evidence.Evidence)) json.RawMessage {
		e := good
		change(&e)
		data, err := json.Marshal(e)
		must(t, err)
		return data
	}
	for name, data := range map[string]json.RawMessage{
		"":                with(func(*evidence.Evidence) {}),
		"other labels":    with(func(e *evidence.Evidence) { e.Labels = []string{"red", "green"} }),
		"another order":   with(func(e *evidence.Evidence) { e.Labels = []string{"blue", "red"} }),
		"another encoder": with(func(e *evidence.Evidence) { e.Encoder = "other" }),
		"less noise":      with(func(e *evidence.Evidence) { e.Sigma = 1 }),
		"more sums":       with(func(e *evidence.Evidence) { e.Sums = 3 }),
		"another width":   with(func(e *evidence.Evidence) { e.Vectors = [][]float64{{1, 0, 0}, {0, 1, 0}} }),
		"no vectors":      with(func(e *evidence.Evidence) { e.Vectors = nil }),
		"none":            nil,
		"null":            json.RawMessage("null"),
		"a list":          json.RawMessage("[]"),
		"without a plan":  with(func(*evidence.Evidence) {}),
	} {
		t.Run(name, func(t *testing.T) {
			p := newEvidencePlace(t)
			if name == "without a plan" {
				p.made.Evidence = nil
			}
			m := newHashModel()
			o := p.options(t, p.plan(), m)
			r := p.runner(o, osDisk{})
			stop := errors.New("stop")
			p.encoder.fail = func() error { return stop }
			if name == "without a plan" {
				m.fail = func(int) error {
					if r.exec.progress != nil && r.exec.progress.done() == r.plan.Texts() {
						return stop
					}
					return nil
				}
			}
			if _, err := r.do(t.Context()); !errors.Is(err, stop) {
				t.Fatal(err)
			}
			p.encoder.fail, m.fail = nil, nil
			appendEntry(t, o.Dir, entry{State: summed, Evidence: data})
			_, err := p.runner(o, osDisk{}).do(t.Context())
			if name == "" {
				must(t, err)
				return
			}
			if !errors.As(err, new(*FolderError)) {
				t.Errorf("the run continues: %v", err)
			}
			if _, err := os.Stat(filepath.Join(o.Dir, evidence.File)); err == nil {
				t.Error("it is released")
			}
		})
	}
}

// TestEvidenceOnce: records are added up once, and not after they chose.
func TestEvidenceOnce(t *testing.T) {
	p := newEvidencePlace(t)
	o := p.options(t, p.plan(), newHashModel())
	p.finish(t, o)
	entries, _, err := readJournal(filepath.Join(o.Dir, journalFile))
	must(t, err)
	at := slices.IndexFunc(entries, func(e entry) bool { return e.State == summed })
	without := slices.Delete(slices.Clone(entries), at, at+1)
	if _, err := fold(slices.Insert(slices.Clone(without), at, entries[at])); err != nil {
		t.Errorf("in its place: %v", err)
	}
	for name, list := range map[string][]entry{
		"twice":          slices.Insert(slices.Clone(entries), at, entries[at]),
		"after a winner": slices.Insert(slices.Clone(without), at+1, entries[at]),
		"in the end":     append(slices.Clone(without), entries[at]),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := fold(list); err == nil || !strings.Contains(err.Error(), "out of place") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestCoveredSums: sums that ran otherwise than the plan says, or that are not among what is charged, are not
// released.
func TestCoveredSums(t *testing.T) {
	p := newEvidencePlace(t)
	r := p.runner(p.options(t, p.plan(), newHashModel()), osDisk{})
	_, err := r.do(t.Context())
	must(t, err)
	planned, charged := *r.plan.Evidence, r.exec.spec.Event
	ran := func(n int64, sigma float64) sums.Outcome {
		return sums.Outcome{Event: privacy.Repeat{N: n, Event: privacy.Gaussian{Sigma: sigma}}}
	}
	must(t, r.coveredSums(ran(2, 1.5)))
	for name, wrong := range map[string]sums.Outcome{"less noise": ran(2, 1), "more sums": ran(3, 1.5), "nothing": {Event: privacy.Compose{}}} {
		t.Run(name, func(t *testing.T) {
			if r.coveredSums(wrong) == nil {
				t.Errorf("%s is released", name)
			}
		})
	}
	for name, e := range map[string]privacy.Event{"none": privacy.Compose{}, "one": privacy.Gaussian{Sigma: 1.5}, "other noise": ran(2, 2).Event, "only rounds": r.plan.Choose.Event()} {
		t.Run(name, func(t *testing.T) {
			r.exec.spec.Event = e
			if r.coveredSums(ran(2, 1.5)) == nil {
				t.Errorf("sums are released, of which %s is charged", name)
			}
		})
	}
	r.exec.spec.Event = charged
	r.plan.Evidence = &planned
	must(t, r.coveredSums(ran(2, 1.5)))
}

// TestNamesAreReadBeforeTheCharge: an encoder that cannot read the names of labels costs nothing.
func TestNamesAreReadBeforeTheCharge(t *testing.T) {
	p := newEvidencePlace(t)
	p.made.Evidence.Names = 10
	p.encoder.fail = func() error { return errors.New("a token that is unknown") }
	o := p.options(t, p.plan(), newHashModel())
	_, err := p.runner(o, osDisk{}).do(t.Context())
	if err == nil || !strings.Contains(err.Error(), "a token that is unknown") {
		t.Error(err)
	}
	if got := charges(t, o); len(got) != 0 {
		t.Errorf("%d charges", len(got))
	}
}
