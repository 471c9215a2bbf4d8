package grader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/internal/grader/gradertest"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// server is a toy behind a server: it writes by itself, and notes which records each call is about
// and how many prompts it holds.
type server struct {
	*gradertest.Toy
	// writes: it gives no scores.
	writes bool
	// refuses prompts with these words.
	refuses string
	calls   []call
}

type call struct {
	records map[string]bool
	prompts int
}

var named = regexp.MustCompile(`record(\d)`)

func (s *server) note(texts []string) {
	c := call{map[string]bool{}, len(texts)}
	for _, text := range texts {
		for _, m := range named.FindAllString(text, -1) {
			c.records[m] = true
		}
	}
	if len(texts) > 0 {
		s.calls = append(s.calls, c)
	}
}

func (s *server) Info() lm.Info {
	info := s.Toy.Info()
	info.Can.Chat, info.Can.Generate, info.BatchInvariant = true, true, false
	if s.writes {
		info.Can = lm.Capabilities{Chat: true}
	}
	return info
}

func (s *server) Tokenizer() lm.Tokenizer {
	if s.writes {
		return lm.RoughTokenizer{}
	}
	return s.Toy
}

func (s *server) Chat(ctx context.Context, messages []lm.Message) ([]lm.Token, error) {
	if s.writes {
		return nil, errors.New("it lays nothing out")
	}
	return s.laid(ctx, messages)
}

func (s *server) laid(ctx context.Context, messages []lm.Message) ([]lm.Token, error) {
	tokens := []lm.Token{gradertest.End}
	for _, m := range messages {
		more, err := s.Encode(ctx, string(m.Role)+"\n"+m.Content)
		if err != nil {
			return nil, err
		}
		tokens = append(append(tokens, more...), gradertest.End)
	}
	return tokens, nil
}

func (s *server) Open(ctx context.Context) (lm.Session, error) {
	if s.writes {
		return nil, errors.New("it has no sessions")
	}
	session, err := s.Toy.Open(ctx)
	return &recordingSession{session, s, map[lm.Sequence][]lm.Token{}}, err
}

func (s *server) Generate(ctx context.Context, prompts []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	texts, out := make([]string, len(prompts)), make([]lm.Text, len(prompts))
	for i, p := range prompts {
		tokens, err := p.Tokens, error(nil)
		if p.Messages != nil {
			tokens, err = s.laid(ctx, p.Messages)
		}
		if err != nil {
			return nil, err
		}
		if texts[i], err = s.Decode(ctx, tokens); err != nil {
			return nil, err
		}
		if s.refuses != "" && strings.Contains(texts[i], s.refuses) {
			out[i].Finish = lm.FinishRefused
			continue
		}
		one, err := lm.GenerateBySteps(ctx, s.Toy, []lm.Prompt{{Tokens: tokens}}, o)
		if err != nil {
			return nil, err
		}
		out[i] = one[0]
	}
	s.note(texts)
	return out, nil
}

// recordingSession is a session whose steps are noted.
type recordingSession struct {
	lm.Session
	of   *server
	held map[lm.Sequence][]lm.Token
}

func (n *recordingSession) Fork(q lm.Sequence) (lm.Sequence, error) {
	f, err := n.Session.Fork(q)
	n.held[f] = slices.Clone(n.held[q])
	return f, err
}

func (n *recordingSession) Step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	var texts []string
	for _, s := range steps {
		n.held[s.Sequence] = append(n.held[s.Sequence], s.Tokens...)
		if !s.Ask.IsZero() {
			text, err := n.of.Decode(ctx, n.held[s.Sequence])
			if err != nil {
				return nil, err
			}
			texts = append(texts, text)
		}
	}
	n.of.note(texts)
	return n.Session.Step(ctx, steps)
}

// asked are records and prompts to ask a server about.
func asked(task prompt.Task, form prompt.Form, calibrated bool) ([]prompt.Prompt, []seal.Record) {
	var records []seal.Record
	for i := range 4 {
		records = append(records, record(task, i+1, fmt.Sprintf("record%d %s", i, strings.Repeat("x", i)), []string{"a", "b", "cab", "b"}[i]))
	}
	var prompts []prompt.Prompt
	for i := range 12 {
		p := prompt.Prompt{Form: form, Instruction: fmt.Sprint("Way ", i)}
		if i%2 == 1 {
			p.Examples = []prompt.Example{{Input: fmt.Sprint("in ", i), Output: "a"}}
		}
		p.Calibrated = calibrated && i%3 == 0
		if i%4 == 3 {
			p = near1(p, 2, 5)
		}
		if len(task.Labels) > 0 && i%4 == 2 { // what is hinted is asked beside what is not
			p.Evidence = prompt.Use{How: prompt.Hinted, Wording: i / 4 % 2}
		}
		prompts = append(prompts, p)
	}
	return prompts, records
}

// listed adds an encoder to options, and evidence where labels are of a list.
func listed(t testing.TB, o Options) Options {
	t.Helper()
	if len(o.Task.Labels) == 0 {
		o.Encoder = trustEncoder(t, &gradertest.Encoder{})
		return o
	}
	return evident(t, o)
}

// TestRecordsAreAskedAboutOneAtATime: on a server that keeps records apart, no call is about two of
// them, what one is asked is asked at once, and grades are what they are without a server.
func TestRecordsAreAskedAboutOneAtATime(t *testing.T) {
	for kind, task := range tasks() {
		for _, u := range served[kind] {
			for _, form := range prompt.Forms() {
				if Reads(u, form) != nil {
					continue
				}
				t.Run(fmt.Sprint(kind, " ", u, " ", form), func(t *testing.T) {
					prompts, records := asked(task, form, kind == prompt.Classify && !form.Turns())
					plain := newGrader(t, listed(t, Options{Model: trust(t, &server{Toy: &gradertest.Toy{}}), Task: task, Utility: u, Forms: []prompt.Form{form}}))
					want, err := plain.Judge(t.Context(), prompts, records)
					if err != nil {
						t.Fatal(err)
					}
					s := &server{Toy: &gradertest.Toy{}}
					// With room for few tokens in a pass: a record's questions are asked at once all the same.
					j := newGrader(t, listed(t, Options{Model: trust(t, s), Task: task, Utility: u, Forms: []prompt.Form{form}, Isolation: lm.RecordsWatched, PassTokens: 400, Prompts: 2}))
					got, err := j.Judge(t.Context(), prompts, records)
					if err != nil {
						t.Fatal(err)
					}
					for p := range want {
						if !slices.Equal(want[p], got[p]) {
							t.Errorf("grades on prompt %d are %v, and without a server %v", p, got[p], want[p])
						}
					}
					about, highest := map[string]int{}, 0
					for _, c := range s.calls {
						if len(c.records) > 1 {
							t.Fatalf("a call is about %v", slices.Sorted(maps.Keys(c.records)))
						}
						for r := range c.records {
							about[r]++
							highest = max(highest, c.prompts)
						}
					}
					if len(about) != len(records) || highest != len(prompts) {
						t.Errorf("%d records were asked about, and at most %d prompts at once", len(about), highest)
					}
					if j.writes(form.Turns()) {
						for r, n := range about {
							if n != 1 {
								t.Errorf("%s was asked about in %d calls, to be written about", r, n)
							}
						}
					}
				})
			}
		}
	}
}

// TestServersThatOnlyWrite judge what they write in turns, and nothing else.
func TestServersThatOnlyWrite(t *testing.T) {
	for kind, task := range tasks() {
		u := Hard
		if kind == prompt.Generate {
			u = Rouge
		}
		prompts, records := asked(task, prompt.ChatForm, false)
		all := newGrader(t, listed(t, Options{Model: trust(t, &server{Toy: &gradertest.Toy{}}), Task: task, Utility: u, Forms: []prompt.Form{prompt.ChatForm}, Isolation: lm.Exclusive}))
		s := &server{Toy: &gradertest.Toy{}, writes: true}
		j := newGrader(t, listed(t, Options{Model: trust(t, s), Task: task, Utility: u, Forms: []prompt.Form{prompt.ChatForm}, Isolation: lm.RecordsExclusive}))
		want, err := all.Judge(t.Context(), prompts, records)
		if err != nil {
			t.Fatal(err)
		}
		j.limit = all.limit // it has no tokens to count
		got, err := j.Judge(t.Context(), prompts, records)
		if err != nil {
			t.Fatal(err)
		}
		for p := range want {
			if !slices.Equal(want[p], got[p]) {
				t.Errorf("%s: grades on prompt %d are %v, not %v", kind, p, got[p], want[p])
			}
		}
		var unsupported *lm.UnsupportedError
		if _, err := New(t.Context(), Options{Model: trust(t, s), Task: task, Utility: u}); !errors.As(err, &unsupported) {
			t.Errorf("%s: a model that only writes judges texts: %v", kind, err)
		}
		s.refuses = "record2"
		refused, err := j.Judge(t.Context(), prompts, records)
		if err != nil {
			t.Fatal(err)
		}
		for p := range refused {
			at := expect.At(t, "%s: with a record that the server refuses", kind)
			expect.Equal(at, "refused[p][2]", refused[p][2], 0)
			expect.Equal(at, "refused[p][1]", refused[p][1], got[p][1])
			expect.Equal(at, "refused[p][3]", refused[p][3], got[p][3])
		}
	}
}
