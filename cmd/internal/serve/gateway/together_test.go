package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/engine/llama"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/prompt"
)

// modelProbe is a model whose sessions are watched.
type modelProbe struct {
	lm.Scorer

	mu sync.Mutex
	// live are the lengths of the sequences of all sessions, and together the most that a step extends.
	live     map[lm.Sequence]int
	together int
	steps    int
	// after, if set, is called after each step.
	after func()
}

func (s *modelProbe) Open(ctx context.Context) (lm.Session, error) {
	opened, err := s.Scorer.Open(ctx)
	return &seenSession{opened, s}, err
}

type seenSession struct {
	lm.Session
	by *modelProbe
}

func (s *seenSession) note(change func(live map[lm.Sequence]int)) {
	s.by.mu.Lock()
	defer s.by.mu.Unlock()
	if s.by.live == nil {
		s.by.live = map[lm.Sequence]int{}
	}
	change(s.by.live)
}

func (s *seenSession) New() (lm.Sequence, error) {
	q, err := s.Session.New()
	s.note(func(live map[lm.Sequence]int) { live[q] = 0 })
	return q, err
}

func (s *seenSession) Fork(of lm.Sequence) (lm.Sequence, error) {
	q, err := s.Session.Fork(of)
	s.note(func(live map[lm.Sequence]int) { live[q] = live[of] })
	return q, err
}

func (s *seenSession) Drop(q lm.Sequence) error {
	s.note(func(live map[lm.Sequence]int) { delete(live, q) })
	return s.Session.Drop(q)
}

func (s *seenSession) Step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	scores, err := s.Session.Step(ctx, steps)
	s.note(func(live map[lm.Sequence]int) {
		for _, one := range steps {
			live[one.Sequence] += len(one.Tokens)
		}
		s.by.steps++
		s.by.together = max(s.by.together, len(steps))
	})
	if s.by.after != nil {
		s.by.after()
	}
	return scores, err
}

// lengths are those of the sequences that are left, sorted.
func (s *modelProbe) lengths() (all []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.live {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// newsShots are examples of a task for the default model.
func newsShots(t *testing.T) (prompt.Task, prompt.Prompt, *Shots) {
	t.Helper()
	task, err := prompt.Builtin("agnews")
	must(t, err)
	p := prompt.Prompt{Examples: []prompt.Example{
		{Input: "The striker scored twice in the second half.", Output: "Sports"},
		{Input: "Shares fell as oil prices rose.", Output: "Business"},
		{Input: "Ministers met to sign the treaty.", Output: "World"},
		{Input: "A new telescope sends its first pictures.", Output: "Technology"},
	}, Form: prompt.ChatForm}
	shots, err := NewShots(t.Context(), task, p, 0, nil)
	must(t, err)
	return task, p, shots
}

// watchedModel is the default one.
func watchedModel(t *testing.T) *modelProbe {
	t.Helper()
	path, _, err := models.Find(models.Default)
	if err != nil {
		t.Fatalf("the default model is needed: run make models: %v", err)
	}
	model, err := llama.Open(path, llama.Options{})
	must(t, err)
	return &modelProbe{Scorer: model}
}

// front serves routes of a model in this process.
func front(t *testing.T, m lm.Model, keep int64, shots ...*Shots) (*Local, string) {
	t.Helper()
	local := &Local{Turns: &Turns{}, Keep: keep, Open: func(context.Context) (lm.Model, error) { return m, nil }}
	var routes []*Route
	for i, s := range shots {
		name := fmt.Sprint("r", i)
		routes = append(routes, &Route{Name: name, Upstream: local, Shots: s, About: About{Route: name}})
	}
	table, err := NewTable(routes)
	must(t, err)
	server := httptest.NewServer(New(table, Options{}))
	t.Cleanup(func() {
		server.Close()
		must(t, local.Close())
	})
	return local, server.URL
}

// said asks for a chat, and returns its text.
func saidBy(t *testing.T, url, route, messages string, tokens int) string {
	t.Helper()
	r, got := post(t, url+"/v1/chat/completions", fmt.Sprintf(`{"model":%q,"temperature":0,"max_tokens":%d,"messages":[%s]}`, route, tokens, messages))
	var a apiResponse
	must(t, json.Unmarshal([]byte(got), &a))
	if r.StatusCode != 200 || len(a.Choices) != 1 {
		t.Fatalf("%d %s", r.StatusCode, got)
	}
	return a.Choices[0].Message.Content
}

func user(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }

// TestPlainOpeningsAreComputedOnce: the second request of a route computes its question alone, and gets the answer that
// it gets where nothing is kept; in chats and completions, with turns before, and with an instruction of the client's
// own, which is not what was computed. What is kept is the route's instruction and examples: nothing that a client
// sent is there after its request.
func TestPlainOpeningsAreComputedOnce(t *testing.T) {
	_, _, shots := newsShots(t)
	model := watchedModel(t)
	local, url := front(t, model, 0, shots)
	_, anew := front(t, watchedModel(t), 1, shots)
	system := `{"role":"system","content":"Answer in one word."},`
	saidBy(t, url, "r0", user("The bank raised its rates again."), 4)
	opening, err := shots.opening(t.Context(), model, true)
	must(t, err)
	if got := model.lengths(); !slices.Equal(got, []int{len(opening)}) || len(opening) < 80 {
		t.Fatalf("after a request, sequences of %d tokens are kept, want those of the opening, %d", got, len(opening))
	}
	for _, messages := range []string{
		user("The goalkeeper was hurt in training."), user("Voters went to the polls."),
		user("The phone has a chip.") + `,{"role":"assistant","content":"Technology"},` + user("And a camera."),
	} {
		before := model.Usage().Computed
		if got, want := saidBy(t, url, "r0", messages, 4), saidBy(t, anew, "r0", messages, 4); got != want {
			t.Errorf("%s: %q, want %q", messages, got, want)
		}
		if n := model.Usage().Computed - before; n > int64(len(opening)) {
			t.Errorf("%s: %d tokens were computed: the opening of %d was, again", messages, n, len(opening))
		}
		if got := model.lengths(); !slices.Equal(got, []int{len(opening)}) {
			t.Errorf("%s: sequences of %d tokens are kept, want those of the opening alone", messages, got)
		}
	}
	if got, want := saidBy(t, url, "r0", system+user("The phone has a chip."), 4), saidBy(t, anew, "r0", system+user("The phone has a chip."), 4); got != want {
		t.Errorf("with an instruction: %q, want %q", got, want)
	}
	text := `{"model":"r0","temperature":0,"max_tokens":2,"prompt":"The phone has a faster chip."}`
	for range 2 {
		_, got := post(t, url+"/v1/completions", text)
		_, want := post(t, anew+"/v1/completions", text)
		var a, b apiResponse
		must(t, json.Unmarshal([]byte(got), &a))
		must(t, json.Unmarshal([]byte(want), &b))
		if *a.Choices[0].Text != *b.Choices[0].Text || *a.Usage != *b.Usage {
			t.Errorf("%s, want %s", got, want)
		}
	}
	written, err := shots.opening(t.Context(), model, false)
	must(t, err)
	if got, want := model.lengths(), []int{len(opening), len(written)}; !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("sequences of %d tokens are kept, want %d", got, want)
	}
	must(t, local.Forget(shots))
	if got := model.lengths(); len(got) != 0 || local.begun.bytes != 0 {
		t.Errorf("sequences of %d tokens are kept of a route that is gone", got)
	}
}

// TestPlainOpeningsAreBounded: of two routes the one that was used last is kept, if there is room for one, and both answer as
// if there were room for both.
func TestPlainOpeningsAreBounded(t *testing.T) {
	task, p, first := newsShots(t)
	p.Examples = p.Examples[:3]
	second, err := NewShots(t.Context(), task, p, 0, nil)
	must(t, err)
	model := watchedModel(t)
	opening, err := first.opening(t.Context(), model, true)
	must(t, err)
	local, url := front(t, model, size(model, len(opening)), first, second)
	_, anew := front(t, watchedModel(t), 1, first, second)
	for i, route := range []string{"r0", "r1", "r0", "r1", "r1"} {
		if got, want := saidBy(t, url, route, user("The goalkeeper was hurt."), 2), saidBy(t, anew, route, user("The goalkeeper was hurt."), 2); got != want {
			t.Errorf("%s: %q, want %q", route, got, want)
		}
		if got := model.lengths(); len(got) != 1 || local.begun.bytes > local.begun.maxBytes {
			t.Errorf("request %d: sequences of %d tokens are kept, %d bytes of %d", i, got, local.begun.bytes, local.begun.maxBytes)
		}
	}
}

// queued waits until so many texts wait for a model.
func (l *Local) queued(t *testing.T, n int) {
	t.Helper()
	for range 2000 {
		l.mu.Lock()
		have := len(l.queue)
		l.mu.Unlock()
		if have == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("there are not %d texts in the queue", n)
}

// TestTogether: requests that wait for the model are written at once, each as it would be by itself, whatever its length; one
// whose client leaves ends alone.
func TestTogether(t *testing.T) {
	_, _, shots := newsShots(t)
	model := watchedModel(t)
	local, url := front(t, model, 0, shots)
	questions := []string{"The goalkeeper was hurt.", "The bank raised its rates.", "Voters went to the polls.", "The phone has a chip.", "A storm hit the coast."}
	alone := make([]string, len(questions))
	for i, q := range questions {
		alone[i] = saidBy(t, url, "r0", user(q), 2+5*i)
	}
	if model.together != 1 {
		t.Fatalf("%d texts are written at once where one is asked for", model.together)
	}
	must(t, local.Turns.Take(t.Context(), ""))
	leaving, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		w := &textRequest{ctx: leaving, prompt: lm.Prompt{Text: "word"}, options: lm.GenerateOptions{MaxTokens: 4000}, done: make(chan struct{})}
		left <- local.await(w, "")
	}()
	local.queued(t, 1)
	var wait sync.WaitGroup
	together := make([]string, len(questions))
	for i, q := range questions {
		wait.Go(func() { together[i] = saidBy(t, url, "r0", user(q), 2+5*i) })
	}
	local.queued(t, 1+len(questions))
	local.Turns.Give()
	wait.Wait()
	leave()
	if err := <-left; err == nil {
		t.Error("who left was answered")
	}
	if fmt.Sprint(together) != fmt.Sprint(alone) {
		t.Errorf("together %q, alone %q", together, alone)
	}
	if model.together < len(questions) {
		t.Errorf("%d texts were written at once at most, want %d", model.together, len(questions))
	}
	for range 2000 { // it is dropped at its next token
		if len(model.lengths()) == 1 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("sequences of %d tokens are left", model.lengths())
}

// TestNothingBesideOthers: who wants the model for itself, as private answers do, gets it when the texts under way have ended: none
// begins before it, and none is written beside it.
func TestNothingBesideOthers(t *testing.T) {
	_, _, shots := newsShots(t)
	model := watchedModel(t)
	local, url := front(t, model, 0, shots)
	saidBy(t, url, "r0", user("The phone has a chip."), 1)
	begun, wanting := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() {
		close(begun)
		<-wanting
	})
	model.after = once
	var wait sync.WaitGroup
	wait.Go(func() { saidBy(t, url, "r0", user("Voters went to the polls."), 3) })
	<-begun
	taken := make(chan int)
	wait.Go(func() {
		must(t, local.Turns.Take(t.Context(), ""))
		before := model.steps
		time.Sleep(20 * time.Millisecond)
		taken <- model.steps - before
		local.Turns.Give()
	})
	for !local.Turns.wanted() {
		time.Sleep(time.Millisecond)
	}
	wait.Go(func() { saidBy(t, url, "r0", user("A storm hit the coast."), 3) })
	local.queued(t, 1)
	close(wanting)
	if n := <-taken; n != 0 || model.together != 1 {
		t.Errorf("%d steps were made beside it, and %d texts written at once before it", n, model.together)
	}
	wait.Wait()
}

// callRecorder counts how often questions are answered.
type callRecorder struct {
	icl.Answerer
	calls [][]string
}

func (c *callRecorder) Answer(ctx context.Context, questions []string) ([]string, error) {
	c.calls = append(c.calls, questions)
	if len(questions) > 1 && slices.ContainsFunc(questions, func(q string) bool { return strings.Contains(q, "fails") }) {
		return nil, fmt.Errorf("one of them fails")
	}
	return c.Answerer.Answer(ctx, questions)
}

func (c *callRecorder) Tokens() int { return c.Answerer.(interface{ Tokens() int }).Tokens() }

// TestJudgedTogether: questions of a judged prompt that wait are answered in one call, as each is by itself and with its own
// count of tokens; what is wrong with one is not wrong with the others.
func TestJudgedTogether(t *testing.T) {
	task, p, _ := newsShots(t)
	p.Form = prompt.TextForm
	model := watchedModel(t)
	local := &Local{Turns: &Turns{}, Open: func(context.Context) (lm.Model, error) { return model, nil }}
	j := &PromptAnswerer{Local: local, Task: task, Prompt: p}
	questions := []string{"The goalkeeper was hurt.", "The bank raised its rates again, and more than once.", "Voters went to the polls.", "The phone has a chip."}
	alone, used := make([]string, len(questions)), make([]counts, len(questions))
	for i, q := range questions {
		var err error
		alone[i], used[i], err = j.answer(t.Context(), "", q)
		must(t, err)
	}
	if used[0] == used[1] {
		t.Error("questions of different lengths count the same")
	}
	asked := &callRecorder{Answerer: j.answerer}
	j.answerer = asked
	together := func(also ...string) {
		t.Helper()
		asked.calls = nil
		must(t, local.Turns.Take(t.Context(), ""))
		var wait sync.WaitGroup
		for i, q := range append(slices.Clone(questions), also...) {
			wait.Go(func() {
				text, n, err := j.answer(t.Context(), "", q)
				if i < len(questions) && (err != nil || text != alone[i] || n != used[i]) {
					t.Errorf("%s: %q, %v, %v, want %q, %v", q, text, n, err, alone[i], used[i])
				}
			})
		}
		for {
			j.mu.Lock()
			n := len(j.waiting)
			j.mu.Unlock()
			if n == len(questions)+len(also) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		local.Turns.Give()
		wait.Wait()
	}
	together()
	if len(asked.calls) != 1 || len(asked.calls[0]) != len(questions) {
		t.Errorf("they were asked as %q, want one call", asked.calls)
	}
	together("this one fails")
	must(t, j.Close())
	must(t, local.Close())
}
