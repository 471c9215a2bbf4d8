package grader_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/metric/rouge"
	"github.com/sotto-dp/sotto/internal/private/internal/grader"
	"github.com/sotto-dp/sotto/internal/private/internal/grader/gradertest"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/prompt"
)

// What a record says about a prompt is what package icl answers with the prompt later: both go by
// package reply. These tests hold the two together, with a real model.

// item is a question with its answer.
type item struct{ question, answer string }

var news = []item{
	{"The striker scored twice in the final of the cup", "Sports"},
	{"A marathon in the rain, won by a baker of forty", "Sports"},
	{"The coach left after the third defeat in a row", "Sports"},
	{"Shares of the bank fell after its report", "Business"},
	{"Oil is cheaper than in spring, say traders in the harbour", "Business"},
	{"The airline buys its rival for two billion", "Business"},
	{"The new phone has a faster chip and a dull screen", "Technology"},
	{"A program finds errors in other programs\n while they run", "Technology"},
	{"Astronomers saw a comet break into pieces", "Technology"},
	{"Ministers met at the border for talks about the river", "World"},
	{"Thousands left their homes as the dam broke", "World"},
	{"The island votes on a new constitution on Sunday", "World"},
	{"Nobody knows what this is about", "Weather"},
}

var films = []item{
	{"any western with a train", "western"},
	{"a funny comedy about two cooks", "comedy"},
	{"show me a scary film about ghosts in a hotel", "scary"},
	{"is there a thriller in which a judge is the thief", "thriller"},
	{"which drama from sweden won prizes", "drama"},
	{"a science fiction film with robots that sing", "science fiction"},
	{"list animated films for small children", "animated"},
	{"war films that were made in the sixties", "war"},
	{"romantic films with a happy end", "romantic"},
	{"a documentary about bees", "documentary"},
}

func open(t *testing.T, name string) lm.TrustedScorer {
	t.Helper()
	model, err := backend.Trusted(context.Background(), backend.Spec{Model: name})
	if err != nil {
		t.Fatalf("%v\nrun: go run ./cmd/sotto model pull %s", err, name)
	}
	t.Cleanup(func() { _ = model.Close() })
	return model
}

func builtin(t *testing.T, name string) prompt.Task {
	t.Helper()
	task, err := prompt.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func judged(t *testing.T, m lm.TrustedScorer, task prompt.Task, u grader.Utility, prompts []prompt.Prompt, items []item) [][]int64 {
	t.Helper()
	return judgedBy(t, &gradertest.Encoder{}, (&gradertest.Encoder{}).Evidence(task.Labels), grader.Options{Model: m, Task: task, Utility: u}, prompts, items)
}

// judgedBy has records judge prompts with evidence, where there are labels.
func judgedBy(t *testing.T, encoder lm.Embedder, e *evidence.Evidence, o grader.Options, prompts []prompt.Prompt, items []item) [][]int64 {
	t.Helper()
	if len(o.Task.Labels) > 0 {
		o.Evidence = e
	}
	var err error
	if o.Encoder, err = lm.TrustEmbedder(encoder, lm.InProcess); err != nil {
		t.Fatal(err)
	}
	j, err := grader.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var records []seal.Record
	for i, x := range items {
		records = append(records, seal.NewRecord(int64(i+1), x.answer, x.question))
	}
	grades, err := j.Judge(t.Context(), prompts, records)
	if err != nil {
		t.Fatal(err)
	}
	return grades
}

// TestLongGradesAreAnswersOfLists: of closed lists, a grade is 1 if and only if the answer
// that package icl gives is the record's.
func TestLongGradesAreAnswersOfLists(t *testing.T) {
	if testing.Short() {
		t.Skip("the model answers many times")
	}
	m, task := open(t, ""), builtin(t, "agnews")
	examples := []prompt.Example{
		{Input: "The goalkeeper saved\n two penalties", Output: "Sports"},
		{Input: "The mine closes, as copper is cheap", Output: "Business"},
		{Input: "A telescope for everybody", Output: "Technology"},
		{Input: "The two presidents shook hands", Output: "World"},
	}
	right, wrong := 0, 0
	for name, p := range map[string]prompt.Prompt{
		"no examples":          {},
		"examples":             {Examples: examples},
		"two examples":         {Examples: examples[1:3]},
		"an instruction":       {Instruction: "\nWhat is this text about: World, Sports, Business or Technology?\n", Examples: examples[:1]},
		"examples of one kind": {Examples: append([]prompt.Example{{Input: "A race", Output: "Sports"}}, examples[0])},
	} {
		c, err := icl.NewClassifier(t.Context(), m.Public(), p.For(task), p.Examples, icl.Options{Calibrate: true})
		if err != nil {
			t.Fatal(err)
		}
		var inputs []string
		for _, x := range news {
			inputs = append(inputs, x.question)
		}
		answers, err := c.Classify(t.Context(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		calibrated := p
		calibrated.Calibrated = true
		for way, grades := range judged(t, m, task, grader.Hard, []prompt.Prompt{p, calibrated}, news) {
			for i, g := range grades {
				answer := []string{answers[i].Raw.Label, answers[i].Label}[way]
				if g != 0 {
					right++
				} else {
					wrong++
				}
				if (g == grader.One) != (answer == news[i].answer) || g != 0 && g != grader.One {
					t.Errorf("%s, calibrated %v: %q is answered with %s, and the grade is %d", name, way > 0, news[i].question, answer, g)
				}
			}
		}
	}
	t.Logf("%d grades of 1 and %d of 0, all as icl answers", right, wrong)
	if right < 20 || wrong < 20 {
		t.Errorf("%d right and %d wrong answers are too few to compare", right, wrong)
	}
}

// TestLongGradesAreTurns: where prompts are turns, a grade is 1 if and only if what package icl reads off
// the model's turn is the record's, for labels and for phrases.
func TestLongGradesAreTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("the model answers many times")
	}
	for _, name := range append([]string{""}, moreModels()...) {
		m := open(t, name)
		if !m.Info().Can.Chat {
			t.Logf("%s does not chat", name)
			continue
		}
		right, wrong := 0, 0
		for _, c := range []struct {
			task  prompt.Task
			items []item
			shown []prompt.Example
		}{
			{builtin(t, "agnews"), news, []prompt.Example{{Input: "The goalkeeper saved\n two penalties", Output: "Sports"}, {Input: "A telescope for everybody", Output: "Technology"}}},
			{builtin(t, "mit-g"), films, []prompt.Example{{Input: "a silly musical with a dog", Output: "musical"}, {Input: "films noir of the forties", Output: "noir"}}},
		} {
			var prompts []prompt.Prompt
			for _, f := range []prompt.Form{prompt.ChatForm, prompt.MessageForm} {
				prompts = append(prompts, prompt.Prompt{Form: f}, prompt.Prompt{Form: f, Examples: c.shown}, prompt.Prompt{Form: f, Instruction: c.task.Wordings(f)[0], Examples: c.shown})
			}
			if len(moreModels()) == 0 { // one of each form
				prompts = []prompt.Prompt{prompts[1], prompts[5]}
			}
			// Each question once with its answer and once with what the model writes.
			var inputs []string
			for _, x := range c.items {
				inputs = append(inputs, x.question)
			}
			for _, p := range prompts {
				answers := answered(t, m.Public(), c.task, p, inputs)
				items := slices.Clone(c.items)
				for i, x := range c.items {
					items = append(items, item{x.question, answers[i]})
				}
				for i, g := range judged(t, m, c.task, grader.Hard, []prompt.Prompt{p}, items)[0] {
					want, known := c.task.ResolveLabel(items[i].answer)
					if same := known && reply.Same(want, answers[i%len(inputs)]); (g == grader.One) != same || g != 0 && g != grader.One {
						t.Errorf("%s %s: %q is answered with %q, should be %q, and the grade is %d", name, p.Form, items[i].question, answers[i%len(inputs)], want, g)
					}
					if g == grader.One {
						right++
					} else {
						wrong++
					}
				}
			}
		}
		t.Logf("%s: %d grades of 1 and %d of 0, all as icl answers", m.Info().Name, right, wrong)
		if right < 20 || wrong < 20 {
			t.Errorf("%d right and %d wrong answers are too few to compare", right, wrong)
		}
	}
}

// TestLongGradesAreWrittenAnswers: of answers that are written, a grade is 1 if and only if
// package icl gives the record's answer.
func TestLongGradesAreWrittenAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("the model answers many times")
	}
	m, task := open(t, ""), builtin(t, "mit-g")
	examples := []prompt.Example{{Input: "a silly musical with a dog", Output: "musical"}, {Input: "films noir of the forties", Output: "noir"}}
	all, right := 0, 0
	for name, p := range map[string]prompt.Prompt{
		"no examples":    {},
		"examples":       {Examples: examples},
		"one example":    {Examples: examples[1:]},
		"an instruction": {Instruction: "Name the genre.", Examples: examples},
	} {
		w, err := icl.NewWriter(t.Context(), m.Public(), p.For(task), p.Examples, icl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var inputs []string
		for _, x := range films {
			inputs = append(inputs, x.question)
		}
		answers, err := w.Answer(t.Context(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if name == "examples" { // what is written, letter by letter, and how much of it is right
			for i, g := range judged(t, m, task, grader.Rouge, []prompt.Prompt{p}, films)[0] {
				if want := (rouge.Options{}).L(films[i].answer, answers[i]).F1; math.Abs(float64(g)/grader.One-want) > 1e-6 {
					t.Errorf("%q is answered with %q, and the grade is %d for %v", films[i].question, answers[i], g, want)
				}
			}
		}
		// Each question once with its answer and once with what the model writes.
		items := slices.Clone(films)
		for i, x := range films {
			items = append(items, item{x.question, answers[i]})
		}
		answers = append(answers, answers...)
		for i, g := range judged(t, m, task, grader.Hard, []prompt.Prompt{p}, items)[0] {
			all++
			if (g == grader.One) != reply.Same(items[i].answer, answers[i]) {
				t.Errorf("%s: %q is answered with %q, should be %q, and the grade is %d", name, items[i].question, answers[i], items[i].answer, g)
			}
			if g == grader.One {
				right++
			}
		}
	}
	t.Logf("%d of %d grades are 1, all as icl answers", right, all)
	if right < all/4 || all-right < 5 {
		t.Errorf("%d of %d grades are 1: too few or too many to compare", right, all)
	}
}

// TestLongGradesWithEvidence: with the encoder that is embedded and a real model, a grade is 1 if and
// only if the answer that package icl gives with evidence, in each of the ways, is the record's.
func TestLongGradesWithEvidence(t *testing.T) {
	if testing.Short() {
		t.Skip("the model answers many times")
	}
	m, task := open(t, ""), builtin(t, "agnews")
	encoder, err := backend.Encoder("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = encoder.Close() })
	e := meansOf(t, encoder, task.Labels, news[:12])
	reader, err := evidence.Open(e, encoder)
	if err != nil {
		t.Fatal(err)
	}
	shown := []prompt.Example{{Input: "The goalkeeper saved\n two penalties", Output: "Sports"}, {Input: "A telescope for everybody", Output: "Technology"}}
	var prompts []prompt.Prompt
	for _, use := range []prompt.Use{{How: prompt.Combined, Weight: 0.5}, {How: prompt.Combined, Weight: 2}, {How: prompt.Hinted}} {
		prompts = append(prompts, prompt.Prompt{Examples: shown, Evidence: use}, prompt.Prompt{Evidence: use, Calibrated: true})
	}
	prompts = append(prompts, prompt.Prompt{Evidence: prompt.Use{How: prompt.Alone}})
	if m.Info().Can.Chat {
		prompts = append(prompts, prompt.Prompt{Form: prompt.ChatForm, Examples: shown, Evidence: prompt.Use{How: prompt.Hinted, Wording: 1}})
	}
	// Each question with its label and with another one.
	var inputs []string
	items := slices.Clone(news)
	for i, x := range news {
		inputs = append(inputs, x.question)
		items = append(items, item{x.question, task.Labels[i%4]})
	}
	grades := judgedBy(t, encoder, e, grader.Options{Model: m, Task: task, Utility: grader.Hard}, prompts, items)
	for at, p := range prompts {
		answers := answeredBy(t, reader, m.Public(), task, p, inputs)
		right := 0
		for i, x := range items {
			want, known := task.ResolveLabel(x.answer)
			if same := known && want == answers[i%len(inputs)]; same != (grades[at][i] == grader.One) {
				t.Errorf("%+v: %q is answered with %s, should be %s, and the grade is %d", p.Evidence, x.question, answers[i%len(inputs)], want, grades[at][i])
			}
			if i < len(news) && grades[at][i] == grader.One {
				right++
			}
		}
		t.Logf("%+v, %d examples, calibrated %v: %d of %d", p.Evidence, len(p.Examples), p.Calibrated, right, len(news))
		if p.Evidence.How == prompt.Alone && right != 12 {
			t.Errorf("means of the texts themselves know %d of 12", right)
		}
	}
}

// meansOf is evidence from the means of texts.
func meansOf(t *testing.T, encoder lm.Embedder, labels []string, items []item) *evidence.Evidence {
	t.Helper()
	out := &evidence.Evidence{Encoder: encoder.Name(), Labels: labels, Sums: 1, Sigma: 1}
	for _, l := range labels {
		sum := make([]float64, encoder.Dimension())
		n := 0
		for _, x := range items {
			if x.answer != l {
				continue
			}
			vectors, err := encoder.Embed(t.Context(), []string{x.question})
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range vectors[0] {
				sum[i] += 8 * float64(v)
			}
			n++
		}
		for i := range sum {
			sum[i] /= float64(n)
		}
		out.Vectors = append(out.Vectors, sum)
	}
	return out
}
