package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/evidence/nearest"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// PromptAnswerer answers with the prompt of a release as its records judged it, where that is one text: labels
// are chosen by their probabilities, calibrated if the records chose so. Clients see no probabilities;
// a model in this process gives them. What comes before questions is computed once. Evidence that answers
// alone needs no model.
type PromptAnswerer struct {
	// Local is not needed for evidence alone.
	Local  *Local
	Task   prompt.Task
	Prompt prompt.Prompt
	// Evidence is required for prompts that use it.
	Evidence *evidence.Reader
	// Encoder is required for prompts that give questions the nearest examples.
	Encoder nearest.Encodes

	answerer icl.Answerer // of the one who has the turn

	mu      sync.Mutex
	waiting []*judgedQuestion
}

// judgedQuestion is a question that a request waits for the answer to.
type judgedQuestion struct {
	question string
	done     chan struct{} // closed when what follows is there
	said     bool
	text     string
	used     counts
	err      error
}

// answer answers a question, and counts its tokens.
func (j *PromptAnswerer) answer(ctx context.Context, who, question string) (string, counts, error) {
	if len(question) > maxQuestion {
		return "", counts{}, invalid("messages", "the question is longer than %d bytes", maxQuestion)
	}
	if err := reads(j.Evidence, question); err != nil {
		return "", counts{}, err
	}
	if j.Prompt.Evidence.How == prompt.Alone {
		return j.alone(ctx, question)
	}
	leave, err := j.Local.Turns.enter(who)
	if err != nil {
		return "", counts{}, err
	}
	defer leave()
	a := &judgedQuestion{question: question, done: make(chan struct{})}
	j.mu.Lock()
	j.waiting = append(j.waiting, a)
	j.mu.Unlock()
	defer j.leave(a) // if its client did
	taken, err := j.Local.Turns.take(ctx, a.done)
	if err != nil {
		return "", counts{}, err
	}
	if taken {
		defer j.Local.Turns.Give()
		j.together(context.WithoutCancel(ctx), a)
	}
	return a.text, a.used, a.err
}

// leave takes a question back that nobody has begun with.
func (j *PromptAnswerer) leave(a *judgedQuestion) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waiting = slices.DeleteFunc(j.waiting, func(b *judgedQuestion) bool { return a == b })
}

// together answers a question, and others that wait, for the one who has the turn. An answer does not depend
// on the questions beside it.
func (j *PromptAnswerer) together(ctx context.Context, first *judgedQuestion) {
	j.mu.Lock()
	if i := slices.Index(j.waiting, first); i < 0 {
		j.mu.Unlock()
		return // it was answered just now
	}
	some := []*judgedQuestion{first}
	for _, a := range j.waiting {
		if a != first && len(some) < maxTogether {
			some = append(some, a)
		}
	}
	j.waiting = slices.DeleteFunc(j.waiting, func(a *judgedQuestion) bool { return slices.Contains(some, a) })
	j.mu.Unlock()
	defer func() { // also after an internal error
		for _, a := range some {
			if !a.said && a.err == nil {
				a.err = problem(http.StatusInternalServerError, serverSide, "", "", "the request failed within the gateway")
			}
			close(a.done)
		}
	}()
	defer j.Local.begun.trim()
	if err := j.open(ctx); err != nil {
		for _, a := range some {
			a.err = err
		}
		return
	}
	questions := make([]string, len(some))
	for i, a := range some {
		questions[i] = a.question
	}
	if answers, err := j.answerer.Answer(ctx, questions); err == nil {
		for i, a := range some {
			j.say(ctx, a, answers[i])
		}
		return
	}
	for _, a := range some { // what is wrong with one is not wrong with all
		if answers, err := j.answerer.Answer(ctx, []string{a.question}); err != nil {
			a.err = err
		} else {
			j.say(ctx, a, answers[0])
		}
	}
}

// say notes an answer, and counts the tokens of its prompt where the model says: by itself, whatever was
// asked beside it.
func (j *PromptAnswerer) say(ctx context.Context, a *judgedQuestion, text string) {
	a.said, a.text, a.used = true, text, counts{Completion: 1}
	scorer, is := j.Local.model.(lm.Scorer)
	shared, has := j.answerer.(interface{ Tokens() int })
	if is && has {
		tokens, err := scorer.Tokenizer().Encode(ctx, j.Prompt.For(j.Task).AnswerItem(reply.Input(j.Task, a.question)))
		if a.err = err; err != nil {
			return
		}
		a.used.Prompt = shared.Tokens() + len(tokens)
	}
	a.used.Total = a.used.Prompt + a.used.Completion
}

// reads refuses a question that evidence is not about: without it the answer would be worth less than the release
// says.
func reads(by *evidence.Reader, question string) error {
	if by == nil {
		return nil
	}
	if err := by.Reads([]string{question}); err != nil {
		return invalid("messages", "%v", err)
	}
	return nil
}

// alone answers by evidence. Nobody waits for a turn.
func (j *PromptAnswerer) alone(ctx context.Context, question string) (string, counts, error) {
	a, err := j.asked(ctx, nil)
	if err != nil {
		return "", counts{}, err
	}
	defer a.Close() // it holds nothing
	answers, err := a.Answer(ctx, []string{question})
	if err != nil {
		return "", counts{}, err
	}
	return answers[0], counts{Completion: 1, Total: 1}, nil
}

// asked opens what answers as the records judged.
func (j *PromptAnswerer) asked(ctx context.Context, model lm.Model) (icl.Answerer, error) {
	return icl.Open(ctx, model, j.Prompt.For(j.Task), j.Prompt.Examples, icl.Options{
		Form: j.Prompt.Form, Calibrate: j.Prompt.Calibrated, Use: j.Prompt.Evidence, Evidence: j.Evidence, Nearest: j.Prompt.Nearest, Encoder: j.Encoder,
	})
}

func (j *PromptAnswerer) open(ctx context.Context) error {
	if j.answerer != nil {
		j.Local.begun.use(j)
		return nil
	}
	model, err := j.Local.open(ctx)
	if err != nil {
		return err
	}
	answerer, err := j.asked(context.WithoutCancel(ctx), model)
	var lacking *lm.UnsupportedError
	if errors.As(err, &lacking) {
		return problem(http.StatusServiceUnavailable, serverSide, "", "", "the model in this program cannot answer as the records of the release judged: use the model that they judged with")
	}
	if err != nil {
		return err
	}
	one := &prefixCache{of: j, drop: func() error {
		defer func() { j.answerer = nil }()
		return answerer.Close()
	}}
	if shared, has := answerer.(interface{ Tokens() int }); has {
		one.bytes = size(model, shared.Tokens())
	}
	// If it is too large to be kept it is used once.
	if _, err := j.Local.begun.room(one.bytes); err != nil {
		return errors.Join(err, answerer.Close())
	}
	j.answerer = answerer
	j.Local.begun.keep(one)
	return nil
}

// Close frees what comes before questions.
func (j *PromptAnswerer) Close() error {
	if j.Local == nil {
		return nil
	}
	if err := j.Local.Turns.Take(context.Background(), ""); err != nil {
		return err
	}
	defer j.Local.Turns.Give()
	return j.Local.begun.forget(j)
}

// judged answers a request as records judged. They judged without a client's instruction, which most clients send and
// which would change what the release says of itself: it is left out, and the answer says so.
func (h *Handler) judged(w http.ResponseWriter, r *http.Request, who string, route *Route, b body) {
	q, err := readQuestion(r.URL.Path, b, true)
	if err != nil {
		fail(w, err)
		return
	}
	text, used, err := route.Judged.answer(r.Context(), who, q.text)
	if err != nil {
		fail(w, err)
		return
	}
	about := route.About
	about.Ignored = q.ignored
	g := &generation{
		chat: q.chat, usage: q.usage, id: newID(), model: route.Name, created: time.Now().Unix(), options: lm.GenerateOptions{MaxTokens: 1},
		write: func(_ context.Context, onText func(int, string) error) (lm.Text, counts, error) {
			var err error
			if onText != nil {
				err = onText(0, text)
			}
			return lm.Text{Text: text, Tokens: used.Completion, Finish: lm.FinishEnd}, used, err
		},
	}
	answer, err := g.answer(r.Context(), q.stream)
	if err != nil {
		fail(w, err)
		return
	}
	defer answer.Body.Close()
	h.hand(w, answer, about, "", who)
}
