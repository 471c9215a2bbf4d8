package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/nearest"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Judged answers with the prompt of a release as its records judged it, where that is one text: labels
// are chosen by their probabilities, calibrated if the records chose so. Clients see no probabilities;
// a model in this process gives them. What comes before questions is computed once. Evidence that answers
// alone needs no model.
type Judged struct {
	// Local is not needed for evidence alone.
	Local  *Local
	Task   prompt.Task
	Prompt prompt.Prompt
	// Evidence is required for prompts that use it.
	Evidence *evidence.Reader
	// Encoder is required for prompts that give questions the nearest examples.
	Encoder nearest.Encodes

	answerer icl.Answerer // of whoever has the turn
}

// answer answers a question, and counts its tokens.
func (j *Judged) answer(ctx context.Context, who, question string) (string, counts, error) {
	if len(question) > longestQuestion {
		return "", counts{}, invalid("messages", "the question is longer than %d bytes", longestQuestion)
	}
	if err := reads(j.Evidence, question); err != nil {
		return "", counts{}, err
	}
	if j.Prompt.Evidence.How == prompt.Alone {
		return j.alone(ctx, question)
	}
	if err := j.Local.Turns.Take(ctx, who); err != nil {
		return "", counts{}, err
	}
	defer j.Local.Turns.Give()
	if err := j.open(ctx); err != nil {
		return "", counts{}, err
	}
	before := j.answerer.Usage()
	answers, err := j.answerer.Answer(ctx, []string{question})
	if err != nil {
		return "", counts{}, err
	}
	used := counts{Prompt: int(j.answerer.Usage().Computed - before.Computed), Completion: 1}
	if shared, ok := j.answerer.(interface{ Tokens() int }); ok {
		used.Prompt += shared.Tokens()
	}
	used.Total = used.Prompt + used.Completion
	return answers[0], used, nil
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
func (j *Judged) alone(ctx context.Context, question string) (string, counts, error) {
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
func (j *Judged) asked(ctx context.Context, model lm.Model) (icl.Answerer, error) {
	return icl.Open(ctx, model, j.Prompt.For(j.Task), j.Prompt.Examples, icl.Options{
		Form: j.Prompt.Form, Calibrate: j.Prompt.Calibrated, Use: j.Prompt.Evidence, Evidence: j.Evidence, Nearest: j.Prompt.Nearest, Encoder: j.Encoder,
	})
}

func (j *Judged) open(ctx context.Context) error {
	if j.answerer != nil {
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
	j.answerer = answerer
	return nil
}

// Close frees what comes before questions.
func (j *Judged) Close() error {
	if j.Local == nil {
		return nil
	}
	if err := j.Local.Turns.Take(context.Background(), ""); err != nil {
		return err
	}
	defer j.Local.Turns.Give()
	if j.answerer == nil {
		return nil
	}
	defer func() { j.answerer = nil }()
	return j.answerer.Close()
}

// judged answers a request as records judged.
func (h *Handler) judged(w http.ResponseWriter, r *http.Request, who string, route *Route, b body) {
	q, err := readQuestion(r.URL.Path, b)
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
	h.hand(w, answer, about, "", &overheard{}, who)
}
