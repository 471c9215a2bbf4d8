package grader

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/likelihood"
	"github.com/sotto-dp/sotto/internal/metric/rouge"
	"github.com/sotto-dp/sotto/internal/private/internal/grader/gradertest"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// tasks of each kind, in letters that the toy likes.
func tasks() map[prompt.Kind]prompt.Task {
	out := map[prompt.Kind]prompt.Task{}
	for kind, labels := range map[prompt.Kind][]string{prompt.Classify: {"a", "b", "cab"}, prompt.Extract: nil, prompt.Generate: nil} {
		t := prompt.Task{
			Name: "test", Kind: kind, Text: "t", Label: "l", Labels: labels,
			Generate: prompt.Generation{Instruction: "Write."},
			Answer:   prompt.AnswerLayout{Instruction: "Choose.", Input: "Q", Output: "A"},
		}
		if kind == prompt.Classify {
			t.Aliases = map[string]string{"first": "a"}
		}
		out[kind] = t.WithDefaults()
	}
	return out
}

// record of a question and its answer, whatever the kind of task.
func record(t prompt.Task, ordinal int, question, answer string) seal.Record {
	if t.Kind == prompt.Generate {
		return seal.NewRecord(int64(ordinal), question, answer)
	}
	return seal.NewRecord(int64(ordinal), answer, question)
}

func trust(t testing.TB, m lm.Scorer) lm.TrustedScorer {
	t.Helper()
	trusted, err := lm.Trust(m, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	return trusted
}

func newGrader(t testing.TB, o Options) *Grader {
	t.Helper()
	j, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// served are the utilities of each kind.
var served = map[prompt.Kind][]Utility{
	prompt.Classify: {Hard, Soft},
	prompt.Extract:  {Hard, Soft, Written, Rouge},
	prompt.Generate: {Written, Rouge},
}

func TestSuits(t *testing.T) {
	for kind, task := range tasks() {
		for _, u := range []Utility{Hard, Soft, Written, Rouge} {
			if err := Suits(u, task); (err == nil) != slices.Contains(served[kind], u) {
				t.Errorf("%s for %s: %v", u, kind, err)
			}
		}
		if Suits("loud", task) == nil {
			t.Errorf("an unknown utility suits %s", kind)
		}
	}
	toy := &gradertest.Toy{Can: lm.Capabilities{All: true}}
	var unsupported *lm.UnsupportedError
	if _, err := New(t.Context(), Options{Model: trust(t, toy), Task: tasks()[prompt.Generate], Utility: Rouge}); !errors.As(err, &unsupported) {
		t.Errorf("a model that does not report its best token writes: %v", err)
	}
	if _, err := New(t.Context(), Options{Task: tasks()[prompt.Classify], Utility: Hard}); err == nil || !strings.Contains(err.Error(), "trusted") {
		t.Errorf("without a model: %v", err)
	}
}

// TestGradesAreTheDefinition computes grades from whole texts, one at a time.
func TestGradesAreTheDefinition(t *testing.T) {
	if testing.Short() {
		t.Skip("the model answers many times")
	}
	for kind, task := range tasks() {
		for _, u := range served[kind] {
			j := newGrader(t, Options{Model: trust(t, &gradertest.Toy{}), Task: task, Utility: u})
			some := 0
			for i := range 360 {
				question, answer := fmt.Sprint("question ", i), []string{"a", "b", "cab"}[i%3]
				p := prompt.Prompt{Calibrated: kind == prompt.Classify && i%2 == 0}
				if i%3 > 0 {
					p.Examples = []prompt.Example{{Input: fmt.Sprint("text ", i%4), Output: "b"}}
				}
				got, err := j.Judge(t.Context(), []prompt.Prompt{p}, []seal.Record{record(task, 1, question, answer)})
				if err != nil {
					t.Fatal(err)
				}
				want := byHand(task, u, p, question, answer)
				if d := got[0][0] - want; d > 1 || d < -1 {
					t.Fatalf("%s, %s, %d: the grade is %d, by hand %d", kind, u, i, got[0][0], want)
				}
				if want > 0 {
					some++
				}
			}
			if some == 0 {
				t.Errorf("%s, %s: all grades are 0", kind, u)
			}
		}
	}
}

// byHand is a grade on a record by the definition, computed from the toy's scores.
func byHand(task prompt.Task, u Utility, p prompt.Prompt, question, answer string) int64 {
	before := task.AnswerPrefix()
	for _, e := range p.Examples {
		before += task.AnswerDemo(e.Input, e.Output)
	}
	// logs of the letters of an output after a text.
	logs := func(text, output string) (out []float64) {
		for _, b := range []byte(output) {
			out = append(out, lm.LogSoftmax(gradertest.Hash(text))[b])
			text += string(b)
		}
		return out
	}
	sum := func(list []float64) (out float64) {
		for _, x := range list {
			out += x
		}
		return out
	}
	head := before + task.AnswerItem(question)
	if u == Rouge || u == Hard && task.Kind == prompt.Extract {
		text := ""
		for range task.Limits.AnswerTokens {
			next := lm.Best(gradertest.Hash(head+text), 1)[0]
			if next == gradertest.End || next == '\n' {
				break
			}
			text += string(rune(next))
		}
		text = strings.TrimSpace(text)
		switch {
		case u == Rouge:
			return fixed(rouge.Options{}.L(answer, text).F1)
		case strings.EqualFold(text, answer):
			return One
		}
		return 0
	}
	if task.Kind != prompt.Classify {
		list := logs(head, " "+answer)
		if u == Soft {
			return fixed(math.Exp(sum(list)))
		}
		mean := 0.0
		for _, x := range list {
			mean += math.Exp(x) / float64(len(list))
		}
		return fixed(mean)
	}
	chances := func(head string) []float64 {
		var all []float64
		for _, l := range task.Labels {
			all = append(all, sum(logs(head, " "+l)))
		}
		all = lm.LogSoftmax(all)
		for i := range all {
			all[i] = math.Exp(all[i])
		}
		return all
	}
	own := chances(head)
	if p.Calibrated {
		weights := make([]float64, len(own))
		for _, empty := range prompt.ContentFree() {
			for l, x := range chances(before + task.AnswerItem(empty)) {
				weights[l] += x / 3
			}
		}
		for l := range own {
			own[l] /= weights[l]
		}
		total := sum(own)
		for l := range own {
			own[l] /= total
		}
	}
	at := slices.Index(task.Labels, answer)
	if u == Soft {
		return fixed(own[at])
	}
	if slices.Index(own, slices.Max(own)) == at {
		return One
	}
	return 0
}

// numbers are as models should not give them, and as they should.
func numbers() *rapid.Generator[float64] {
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 1, -1, 1e-3, 1e308, -1e308, 5e-324, math.Nextafter(1, 0), math.Nextafter(1, 2)}
	return rapid.OneOf(rapid.Float64(), rapid.SampledFrom(special), rapid.Float64Range(-9, 0.01))
}

// TestGradesAreBounded: 0 ≤ g ≤ 1 whatever a model says, which the proof rests on.
func TestGradesAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.SampledFrom([]Utility{Hard, Soft, Written}).Draw(t, "utility")
		h := &batch{Grader: &Grader{Options: Options{Utility: u}}}
		scores := rapid.SliceOfN(numbers(), 1, 5).Draw(t, "scores")
		line := likelihood.Scores{LogProbs: scores}
		for what, g := range map[string]int64{
			"fixed": fixed(scores[0]),
			"grade": h.grade(reply.Probabilities(slices.Clone(scores)), rapid.IntRange(0, len(scores)-1).Draw(t, "label")),
			"read":  h.read(line),
		} {
			if g < 0 || g > One {
				t.Fatalf("%s of %v is %d steps, one is %d", what, scores, g, One)
			}
		}
	})
	at := expect.At(t, "grades are not rounded down onto the grid")
	expect.Equal(at, "fixed(1)", fixed(1), One)
	expect.Equal(at, "fixed(math.Nextafter(1, 0))", fixed(math.Nextafter(1, 0)), One-1)
	expect.Equal(at, "fixed(0)", fixed(0), 0)
	expect.Equal(at, "fixed(math.NaN())", fixed(math.NaN()), 0)
	expect.Equal(at, "fixed(-1)", fixed(-1), 0)
}

// TestUnsoundModels: a model whose probabilities are above one by what servers' rounding
// makes of them counts a record for one and no more; what is further off is refused
// without a word about the record.
func TestUnsoundModels(t *testing.T) {
	for kind, task := range tasks() {
		for _, u := range served[kind] {
			for what, distort := range map[string]func([]float64){
				"a little above": func(logs []float64) {
					for i := range logs {
						if len(logs) < 200 {
							logs[i] = 0.0004 // one token's
						}
					}
				},
				"above":        func(logs []float64) { logs[0] = 3 },
				"not a number": func(logs []float64) { logs[len(logs)-1] = math.NaN() },
			} {
				// Most of the probability is the answer's, so that it is the best at each place.
				sure := func(text string) []float64 {
					out := make([]float64, gradertest.End+1)
					const answer = " cab\n"
					out[answer[min(len(answer)-1, len(text)-strings.LastIndex(text, "A:")-2)]] = 50
					return out
				}
				toy := &gradertest.Toy{Logits: sure, Distort: distort}
				j := newGrader(t, Options{Model: trust(t, toy), Task: task, Utility: u})
				got, err := j.Judge(t.Context(), []prompt.Prompt{{}}, []seal.Record{record(task, 1, canary, "cab")})
				var unsound *lm.UnsoundError
				switch {
				case err == nil && what == "a little above":
					if got[0][0] < 0 || got[0][0] > One {
						t.Errorf("%s, %s: the grade is %d", kind, u, got[0][0])
					}
				case errors.As(err, &unsound):
					clean(t, what, err)
				default:
					t.Errorf("%s, %s, %s: %v, %v", kind, u, what, got, err)
				}
			}
		}
	}
}

// TestRecordsThatCannotBeAsked score 0 about every prompt and raise no error: it would tell
// that somebody has such a record.
func TestRecordsThatCannotBeAsked(t *testing.T) {
	for kind, task := range tasks() {
		task.Limits.InputTokens = 1000
		for _, u := range served[kind] {
			toy := &gradertest.Toy{Context: 200}
			j := newGrader(t, Options{Model: trust(t, toy), Task: task, Utility: u})
			prompts := []prompt.Prompt{{}, {Examples: []prompt.Example{{Input: "short", Output: "a"}}}, {Examples: []prompt.Example{{Input: strings.Repeat("long ", 60), Output: "a"}}}}
			if kind == prompt.Classify {
				prompts = append(prompts, prompt.Prompt{Calibrated: true}, prompt.Prompt{Examples: prompts[2].Examples, Calibrated: true})
			}
			odd := map[string]seal.Record{
				"too long":  record(task, 1, strings.Repeat("x", 190), "a"),
				"no answer": record(task, 2, "question", ""),
				"white":     record(task, 3, "question", " \n\t "),
			}
			if kind == prompt.Classify {
				odd["unknown label"], odd["near label"] = record(task, 4, "question", "d"), record(task, 5, "question", "A")
			}
			for what, r := range odd {
				got, err := j.Judge(t.Context(), prompts, []seal.Record{r})
				if err != nil {
					t.Errorf("%s, %s, %s: %v", kind, u, what, err)
				}
				for p, grades := range got {
					if grades[0] != 0 {
						t.Errorf("%s, %s: a record with %s says %d of prompt %d", kind, u, what, grades[0], p)
					}
				}
			}
			for n := 100; n < 200; n++ { // around the limit, with room for the answer or not
				if _, err := j.Judge(t.Context(), prompts[:2], []seal.Record{record(task, n, strings.Repeat("x", n), "cab")}); err != nil {
					t.Fatalf("%s, %s: a question of %d letters: %v", kind, u, n, err)
				}
			}
			if toy.Opened != 0 || toy.Longest > 200 {
				t.Errorf("%s, %s: %d sequences are open, the longest was %d", kind, u, toy.Opened, toy.Longest)
			}
		}
	}
}

// TestTheContextIsUsed: a record that just fits is asked, in its aliases too.
func TestTheContextIsUsed(t *testing.T) {
	task := tasks()[prompt.Classify]
	head := len(task.AnswerPrefix()) + len(task.AnswerItem("question"))
	for context, want := range map[int]bool{1 + head + len(" cab"): true, head + len(" cab"): false} {
		j := newGrader(t, Options{Model: trust(t, &gradertest.Toy{Context: context}), Task: task, Utility: Soft})
		got, err := j.Judge(t.Context(), []prompt.Prompt{{}}, []seal.Record{record(task, 1, "question", "a"), record(task, 2, "question", "first")})
		at := expect.At(t, "a context of %d", context)
		expect.NoError(at, err)
		expect.Equal(at, "got[0][0] > 0", got[0][0] > 0, want)
		expect.Equal(at, "got[0][0]", got[0][0], got[0][1])
	}
}

// TestLinesOfQuestions: where texts may have lines, the questions of a task with labels are
// still one line, as in examples and when answers are asked for later.
func TestLinesOfQuestions(t *testing.T) {
	task := tasks()[prompt.Classify]
	task.Stop = []string{"END"}
	j := newGrader(t, Options{Model: trust(t, &gradertest.Toy{}), Task: task, Utility: Soft})
	got, err := j.Judge(t.Context(), []prompt.Prompt{{}}, []seal.Record{record(task, 1, "one\n two", "a"), record(task, 2, "one two", "a")})
	at := expect.At(t, "grades of a text with lines and without")
	expect.NoError(at, err)
	expect.Equal(at, "got[0][0]", got[0][0], got[0][1])
	expect.True(at, "got[0][0] is not 0", got[0][0] != 0, got[0][0])
}

// TestTies: of labels that are as likely, the answer is the first of the list, no matter who
// asks.
func TestTies(t *testing.T) {
	task := tasks()[prompt.Classify]
	task.Labels = []string{"b", "a", "c"}
	toy := &gradertest.Toy{Logits: func(string) []float64 { return make([]float64, gradertest.End+1) }}
	j := newGrader(t, Options{Model: trust(t, toy), Task: task, Utility: Hard})
	var records []seal.Record
	for i, l := range []string{"a", "b", "c"} {
		records = append(records, record(task, i+1, "question", l))
	}
	got, err := j.Judge(t.Context(), []prompt.Prompt{{}, {Calibrated: true}}, records)
	for _, grades := range got {
		if !slices.Equal(grades, []int64{0, One, 0}) {
			t.Errorf("grades on equal labels are %v", grades)
		}
	}
	if err != nil {
		t.Error(err)
	}
}
