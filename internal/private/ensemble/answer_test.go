package ensemble

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// TestAnswers: every method answers, says what it cost, leaves nothing open, and gives the
// same answer however the prompts are put together.
func TestAnswers(t *testing.T) {
	for name, s := range scenes(t) {
		t.Run(name, func(t *testing.T) {
			for index := range uint64(2) {
				want, err := s.answer(t, index)
				if err != nil {
					t.Fatal(err)
				}
				if want.Event().String() != s.method.Event().String() || want.Steps() != 1 {
					t.Errorf("costs %v in %d steps, declared is %v", want.Event(), want.Steps(), s.method.Event())
				}
				if listed(s.task) && !slices.Contains(s.task.Labels, want.Text()) {
					t.Errorf("%q is not a label", want.Text())
				}
				for _, change := range []func(*scene){
					func(s *scene) { s.options.PassTokens = 1 },
					func(s *scene) { s.options.PassTokens = 300 },
					func(s *scene) { s.toy.all = true },
				} {
					other := scenes(t)[name]
					change(other)
					if got, err := other.answer(t, index); err != nil || got.Text() != want.Text() {
						t.Errorf("answers %q, and %q (%v) with other passes", want.Text(), got.Text(), err)
					}
				}
			}
			if s.toy.open != 0 || s.toy.sessions != 0 {
				t.Errorf("%d sequences and %d sessions are left open", s.toy.open, s.toy.sessions)
			}
			if s.toy.longest > s.toy.context {
				t.Errorf("a sequence of %d tokens", s.toy.longest)
			}
		})
	}
}

// TestPromptsHoldTheirRecords compares the sequences of a vote with prompts that are laid
// out by hand.
func TestPromptsHoldTheirRecords(t *testing.T) {
	s := scenes(t)["agnews vote"]
	if _, err := s.answer(t, 3); err != nil {
		t.Fatal(err)
	}
	if len(s.pool.read) == 0 {
		t.Fatal("nobody was drawn: choose another index")
	}
	for _, ordinal := range s.pool.read {
		i := int(ordinal - 1)
		text, label := canary+" of record "+itoa(i), s.task.Labels[i%len(s.task.Labels)]
		want := s.task.AnswerPrefix() + s.task.AnswerDemo(text, label) + s.task.AnswerItem(asked)
		if !slices.Contains(s.toy.seen, want) {
			t.Errorf("no sequence is that of record %d:\n%s", ordinal, want)
		}
	}
	if !slices.Contains(s.toy.seen, s.task.AnswerPrefix()+s.task.AnswerItem(asked)) {
		t.Error("no sequence is the public one")
	}
	for _, seen := range s.toy.seen {
		if strings.Count(seen, canary) > 1 {
			t.Errorf("several records are in one prompt:\n%s", seen)
		}
	}
}

func itoa(i int) string {
	out, err := json.Marshal(i)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// TestThresholdLooksTwice: the vote has a draw of its own, which is read only if the check
// passes; if not, the check is all that is charged.
func TestThresholdLooksTwice(t *testing.T) {
	s := scenes(t)["agnews threshold"]
	v := *s.method.(*Vote)
	check := privacy.Canonical(v.Draw.Event(privacy.Gaussian{Sigma: v.CheckSigma}, 1)).String()
	differ := false
	for index := range uint64(5) {
		v.Threshold = 1000
		s.method, s.pool.read = &v, nil
		failed, err := s.answer(t, index)
		if err != nil {
			t.Fatal(err)
		}
		first := s.pool.read
		if failed.Used() == nil || failed.Used().String() != check {
			t.Errorf("a check that fails used %v, want %s", failed.Used(), check)
		}
		v.Threshold = -1000
		s.pool.read = nil
		passed, err := s.answer(t, index)
		if err != nil {
			t.Fatal(err)
		}
		if passed.Used() != nil {
			t.Errorf("a check that passes used %v, want all", passed.Used())
		}
		if !slices.Equal(s.pool.read[:len(first)], first) {
			t.Error("the check read other records")
		}
		differ = differ || !slices.Equal(s.pool.read[len(first):], first)
	}
	if !differ {
		t.Error("the vote has the draws of the check")
	}
}

// TestNothingToChoose: one candidate, no word or one label are answers for which no record
// is needed.
func TestNothingToChoose(t *testing.T) {
	s := scenes(t)["samsum embedding"]
	s.toy.still = true // all candidates are the same
	got, err := s.answer(t, 1)
	expect.NoError(t, err)
	expect.True(t, "got.Text() is not empty", got.Text() != "", got.Text())
	expect.Equal(t, "len(s.pool.read)", len(s.pool.read), 0)
	if got.Used() == nil || got.Used().String() != (privacy.Compose{}).String() {
		t.Errorf("used %v", got.Used())
	}
	s = scenes(t)["agnews vote"]
	s.task.Labels = s.task.Labels[:1]
	s.options.Task = s.task
	s.pool = tickets(s.task, 12)
	s.options.Pool = s.pool
	if got, err := s.answer(t, 1); err != nil || got.Text() != s.task.Labels[0] {
		t.Errorf("one label: %q, %v", got.Text(), err)
	}
}

// TestAnswersSaySomething: a model that would rather end is held to a word, and not to
// more.
func TestAnswersSaySomething(t *testing.T) {
	for name, s := range scenes(t) {
		if listed(s.task) {
			continue
		}
		s.toy.hasty = true
		got, err := s.answer(t, 3)
		if err != nil || strings.TrimSpace(got.Text()) == "" {
			t.Errorf("%s: %q, %v", name, got.Text(), err)
		}
	}
}

// TestNobodyIsDrawn: empty data sets, and draws of nobody, have answers too.
func TestNobodyIsDrawn(t *testing.T) {
	for name, s := range scenes(t) {
		s.pool.records = nil
		if got, err := s.answer(t, 1); err != nil || got.Event() == nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(s.pool.read) > 0 {
			t.Errorf("%s: records of an empty pool were read", name)
		}
	}
}

// TestLongRecords: what does not fit is left out, and a question that does not is refused
// before anything is read.
func TestLongRecords(t *testing.T) {
	for name, s := range scenes(t) {
		a, err := NewAnswerer(s.options)
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.begin(t.Context(), Job{Input: asked, Method: s.method})
		if err != nil {
			t.Fatal(err)
		}
		need := r.opening + len(r.item) + a.Tokens
		s.toy.context = need + 30 // no record fits
		if _, err := s.answer(t, 3); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		s.toy.context, s.pool.read = need-1, nil
		_, err = s.answer(t, 3)
		at := expect.At(t, "%s", name)
		expect.Contains(at, "err", fmt.Sprint(err), "ask a shorter one")
		expect.Equal(at, "len(s.pool.read)", len(s.pool.read), 0)
	}
}

// TestFaults: whatever fails, the answer fails with it, nothing stays open, and no error
// has a record in it.
func TestFaults(t *testing.T) {
	for name := range scenes(t) {
		s := scenes(t)[name]
		if _, err := s.answer(t, 3); err != nil {
			t.Fatal(err)
		}
		calls := s.toy.calls
		for at := 1; at <= calls; at += 1 + calls/7 {
			s := scenes(t)[name]
			s.toy.fail = at
			released, err := s.answer(t, 3)
			if err == nil {
				t.Errorf("%s: call %d failed, and there is an answer", name, at)
				continue
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("%s: %v", name, err)
			}
			if released.Text() != "" || released.Event() != nil {
				t.Errorf("%s: something was released with an error", name)
			}
			if s.toy.sessions != 0 {
				t.Errorf("%s: call %d failed, and a session stays open", name, at)
			}
		}
		s = scenes(t)[name]
		s.pool.err = errors.New("the disk is gone")
		if _, err := s.answer(t, 3); err == nil {
			t.Errorf("%s: records could not be read, and there is an answer", name)
		}
	}
}

// TestAnswersDoNotShareNoise: other indices and other keys give other draws.
func TestAnswersDoNotShareNoise(t *testing.T) {
	reads := map[string]bool{}
	const answers = 12
	for index := range uint64(answers) {
		s := scenes(t)["agnews vote"]
		if _, err := s.answer(t, index); err != nil {
			t.Fatal(err)
		}
		names, err := json.Marshal(s.pool.read)
		if err != nil {
			t.Fatal(err)
		}
		reads[string(names)] = true
	}
	if len(reads) < answers-3 {
		t.Errorf("%d answers have %d draws", answers, len(reads))
	}
}

// TestConcurrentAnswers: answers are the same when several are asked for together.
func TestConcurrentAnswers(t *testing.T) {
	task := builtin(t, "agnews")
	p := &syncPool{pool: tickets(task, 12)}
	method := &Vote{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.3}, Range: 2}
	model, err := lm.Trust(manyToys{newToy()}, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	var seen sync.Map
	a, err := NewAnswerer(Options{Model: model, Task: task, Pool: p, Key: noise.KeyFromSeed(1), Observe: func(p Progress) { seen.Store(p.Text, p.Ended) }})
	if err != nil {
		t.Fatal(err)
	}
	answers := func(parallel int) []string {
		out := make([]string, 8)
		var group sync.WaitGroup
		gate := make(chan struct{}, parallel)
		for i := range out {
			gate <- struct{}{}
			group.Go(func() {
				defer func() { <-gate }()
				r, err := a.Answer(t.Context(), Job{Text: draw.Text{Index: uint64(i)}, Input: asked, Method: method})
				if err != nil {
					t.Error(err)
				}
				out[i] = r.Text()
			})
		}
		group.Wait()
		return out
	}
	if one, many := answers(1), answers(4); !slices.Equal(one, many) {
		t.Errorf("one by one %v, together %v", one, many)
	}
	if a.Usage().Computed == 0 {
		t.Error("no work was counted")
	}
	for i := range uint64(8) {
		if ended, ok := seen.Load(i); !ok || ended != true {
			t.Errorf("nothing was reported of answer %d", i)
		}
	}
}

type syncPool struct {
	mu sync.Mutex
	*pool
}

func init() { seal.Admit[*syncPool]() }

func (l *syncPool) Fetch(ctx context.Context, refs []seal.Ref) ([]seal.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pool.Fetch(ctx, refs)
}

// manyToys has a toy for each session, as toys are for one goroutine.
type manyToys struct{ *toy }

func (m manyToys) Open(ctx context.Context) (lm.Session, error) { return newToy().Open(ctx) }
func (m manyToys) Tokenizer() lm.Tokenizer                      { return manyTokens(m) }

type manyTokens struct{ *toy }

func (m manyTokens) Encode(ctx context.Context, s string) ([]lm.Token, error) {
	return newToy().Encode(ctx, s)
}

func (m manyTokens) Decode(ctx context.Context, t []lm.Token) (string, error) {
	return newToy().Decode(ctx, t)
}
