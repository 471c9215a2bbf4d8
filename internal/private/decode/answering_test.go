package decode_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// answered is a task whose answers are written.
func answered(t testing.TB, name string) prompt.Task {
	t.Helper()
	out, err := prompt.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	out.Limits = prompt.Limits{RecordTokens: 40, InputTokens: 30, AnswerTokens: 9, MaxTokens: 20}
	return out
}

// examples are a pool of n records, longer than the limits.
func examples(n int) pool {
	p := make(pool, 1)
	for i := range n {
		p[0] = append(p[0], seal.NewRecord(int64(i+1), fmt.Sprintf("condition %d, which is a long one, too long", i), fmt.Sprintf("record %d has a text that is longer still, too long to be all there", i)))
	}
	return p
}

func answering(t testing.TB, name string, p pool) decode.Options {
	t.Helper()
	o := optionsFor(t, newToy(), p, noise.KeyFromSeed(5))
	o.Task, o.Rules, o.Answering = answered(t, name), decode.Rules{}, true
	return o
}

func first(s string, n int) string { return s[:min(n, len(s))] }

// TestAnsweringLaysOutQuestions makes every prompt of an answer anew: records are
// questions with their answers, each cut to its limit, before the question itself.
func TestAnsweringLaysOutQuestions(t *testing.T) {
	const n = 6
	question := "who made  the film about \n the sea, and did they like the sea?"
	for _, name := range []string{"mit-d", "samsum"} {
		t.Run(name, func(t *testing.T) {
			p := examples(n)
			o := answering(t, name, p)
			sampling := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.5}
			s := spying(sampling, 0)
			job := decode.Job{Text: draw.Text{Index: 2}, Condition: question, Method: s.PickMethod}
			write(t, o, []decode.Job{job})
			samples, err := draw.NewDrawer(p, o.Key).Draw(sampling, job.Text, 9)
			expect.NoError(t, err)
			expect.True(t, "len(samples[0].Prompts) is not 0", len(samples[0].Prompts) != 0, len(samples[0].Prompts))
			expect.Len(t, "s.views[0].Prompts", s.views[0].Prompts, len(samples[0].Prompts))
			if n := len(s.views); n > 9 {
				t.Errorf("an answer of %d tokens, and 9 are allowed", n)
			}
			opening := append([]lm.Token{end}, bytesOf(o.Task.AnswerPrefix())...)
			asked := strings.Join(strings.Fields(question), " ")
			if name == "samsum" {
				asked = question
			}
			head := bytesOf(o.Task.AnswerItem(first(asked, 30)))
			compare(t, "public", s.views[0].Public, slices.Concat(opening, head), everything())
			for i, refs := range samples[0].Prompts {
				records, err := p.Fetch(t.Context(), refs)
				if err != nil {
					t.Fatal(err)
				}
				condition, text := seal.Condition(records[0]), seal.Text(records[0])
				demo := o.Task.AnswerDemo(first(text, 30), first(condition, 9))
				if name == "samsum" {
					demo = o.Task.AnswerDemo(first(condition, 30), first(text, 40))
				}
				compare(t, fmt.Sprint("prompt ", i), s.views[0].Prompts[i], slices.Concat(opening, bytesOf(demo), head), everything())
			}
		})
	}
}

// TestAnswersSaySomething: an answer does not begin with white space, nor end before it
// began; where it may be empty, it may.
func TestAnswersSaySomething(t *testing.T) {
	first := func(minimum int) int {
		o := answering(t, "samsum", examples(4))
		o.Rules.MinTokens = minimum
		s := spying(scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.5}, 0)
		write(t, o, []decode.Job{{Condition: "Ada: hello", Method: s.PickMethod}})
		return len(s.views[0].Public)
	}
	silent := len("\t\n\v\f\r ") + 1 // and the end
	if any, some := first(0), first(1); any-some != silent {
		t.Errorf("%d tokens may begin an answer that may be empty, and %d one that may not", any, some)
	}
}

// TestAnsweringWithEveryMethod: answers come from every method, the same ones with and
// without caches, and those that cannot answer say so.
func TestAnsweringWithEveryMethod(t *testing.T) {
	const n = 20
	for name, m := range methodsOn(n) {
		run := func(published bool) (string, error) {
			o := answering(t, "samsum", examples(n))
			o.Published = published
			w, err := decode.NewWriter(o)
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			err = w.Write(t.Context(), []decode.Job{{Text: draw.Text{Index: 7}, Condition: "Ada: hello", Method: m}}, func(_ decode.Job, r seal.Output) error {
				text = fmt.Sprint(r.Steps(), r.Text(), r.Event())
				return nil
			})
			return text, err
		}
		cached, err := run(false)
		if name == "real" {
			if err == nil || !strings.Contains(err.Error(), "another method") {
				t.Errorf("records as they are answer: %q, %v", cached, err)
			}
			continue
		}
		full, again := run(true)
		at := expect.At(t, "%s", name)
		expect.NoError(at, err)
		expect.NoError(at, again)
		expect.Equal(at, "cached", cached, full)
		expect.True(at, "cached is not empty", cached != "", cached)
	}
	o := optionsFor(t, newToy(), tickets(n), noise.KeyFromSeed(1))
	o.Answering = true
	if _, err := decode.NewWriter(o); err == nil || !strings.Contains(err.Error(), "use the method vote") {
		t.Errorf("labels of a list are written: %v", err)
	}
}

// TestStream: what is shown grows token by token to what is released, under the event of
// the whole, for texts that are written at once too.
func TestStream(t *testing.T) {
	shown := map[uint64][]seal.Output{}
	o := answering(t, "samsum", examples(20))
	o.Parallel = 2
	o.Stream = func(j decode.Job, r seal.Output) { shown[j.Index] = append(shown[j.Index], r) }
	m := methodsOn(20)["mixing"]
	var jobs []decode.Job
	for i := range uint64(3) {
		jobs = append(jobs, decode.Job{Text: draw.Text{Index: i}, Condition: "Ada: hello", Method: m})
	}
	for i, text := range write(t, o, jobs) {
		parts := shown[i]
		if len(parts) == 0 {
			t.Fatalf("nothing is shown of text %d", i)
		}
		for k, r := range parts {
			if r.Steps() != k+1 || r.Event().String() != decode.TextEvent(m, 9).String() {
				t.Errorf("after %d tokens %d are shown, for %s", k+1, r.Steps(), r.Event())
			}
			if k > 0 && !strings.HasPrefix(r.Text(), strings.TrimSpace(parts[k-1].Text())) {
				t.Errorf("%q is shown after %q", r.Text(), parts[k-1].Text())
			}
		}
		last := parts[len(parts)-1]
		if got := fmt.Sprint(last.Steps(), " ", last.Text()); got != text {
			t.Errorf("%q is shown and %q released", got, text)
		}
	}
}

// TestStreamBreaks: a tokeniser that fails while an answer is shown ends it.
func TestStreamBreaks(t *testing.T) {
	o := answering(t, "samsum", examples(20))
	count := 0
	o.Stream = func(decode.Job, seal.Output) { count++ }
	model := newToy()
	failed := errors.New("it broke")
	model.fail = func(what string, times int) error {
		if what == "decode" && count == 2 {
			return failed
		}
		return nil
	}
	o.Model = model.trusted(t)
	w, err := decode.NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	err = w.Write(t.Context(), []decode.Job{{Condition: "Ada: hello", Method: methodsOn(20)["mixing"]}}, func(decode.Job, seal.Output) error { return nil })
	if !errors.Is(err, failed) || count != 2 {
		t.Errorf("after %d tokens: %v", count, err)
	}
}

// TestQuestion: what cannot be answered is found before anything is drawn.
func TestQuestion(t *testing.T) {
	model := newToy()
	q := decode.Question{Model: model.trusted(t), Task: answered(t, "samsum"), Input: "Ada: hello", Records: 1}
	if err := q.Check(t.Context()); err != nil {
		t.Errorf("a good question: %v", err)
	}
	for want, change := range map[string]func(*decode.Question){
		"the input is empty":                     func(q *decode.Question) { q.Input = " \n" },
		"has 31 tokens, and the task takes 30":   func(q *decode.Question) { q.Input = strings.Repeat("x", 31) },
		"more than the model's 300":              func(q *decode.Question) { model.context = 300; q.Records = 3 },
		"may have 2100 tokens, more than the mo": func(q *decode.Question) { model.context = 300; q.Records = 0; q.Tokens = 2048 },
	} {
		bad := q
		change(&bad)
		var reason *decode.QuestionError
		if err := bad.Check(t.Context()); !errors.As(err, &reason) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, which does not say %q", err, want)
		}
		model.context = 4096
	}
	// A question that passes is answered: prompts at all limits fit the context.
	o := answering(t, "samsum", examples(20))
	o.Model = model.trusted(t)
	for model.context = 1; q.Check(t.Context()) != nil; model.context++ {
	}
	w, err := decode.NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	err = w.Write(t.Context(), []decode.Job{{Condition: q.Input, Method: methodsOn(20)["mixing"]}}, func(decode.Job, seal.Output) error { return nil })
	if err != nil {
		t.Errorf("a context of %d: %v", model.context, err)
	}
	failed := errors.New("it broke")
	for at := range 3 {
		start := model.times["encode"]
		model.fail = func(what string, times int) error {
			if what == "encode" && times == start+at {
				return failed
			}
			return nil
		}
		if err := q.Check(t.Context()); !errors.Is(err, failed) {
			t.Errorf("a tokeniser that fails: %v", err)
		}
	}
}

// TestMixingCandidates: as many as asked for, and none more for what records say; 0 takes
// the whole vocabulary.
func TestMixingCandidates(t *testing.T) {
	for asked, want := range map[int]int{2: 2, 20: 20, 0: end + 1} {
		mixing := *methodsOn(20)["mixing"].(*decode.Mixing)
		mixing.Candidates = asked
		var sizes []int
		m := &decode.PickMethod{Method: &mixing, Look: func(v decode.View, s *noise.Stream) (int, error) {
			sizes = append(sizes, len(v.Public))
			return mixing.Select(v, s)
		}}
		write(t, answering(t, "samsum", examples(20)), []decode.Job{{Condition: "Ada: hello", Method: m}})
		for _, n := range sizes {
			if n != want {
				t.Errorf("%d candidates are asked for: %v are there", asked, sizes)
				break
			}
		}
	}
}
