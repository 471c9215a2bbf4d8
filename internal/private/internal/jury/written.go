package jury

import (
	"context"
	"math"
	"strings"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/likelihood"
)

// output is an answer as it follows a question, cut to the task's limit. What ends it is not part
// of it: that depends on the model's vocabulary.
func (j *Jury) output(ctx context.Context, answer string) ([]lm.Token, error) {
	answer = strings.TrimSpace(j.layout.Line(answer))
	if answer == "" {
		return nil, nil
	}
	tokens, err := j.Model.Tokenizer().Encode(ctx, " "+answer)
	if err != nil {
		return nil, err
	}
	return tokens[:min(len(tokens), j.Task.Limits.AnswerTokens)], nil
}

// written hears records about the probability of answers that are not of a list.
func (h *hearing) written(ctx context.Context, stems []stem, open []lm.Sequence, out []heard) error {
	return h.passes(ctx, stems, h.sequences(), func(list []question) error {
		asked := make([]likelihood.Continuation, len(list))
		for i, q := range list {
			asked[i] = likelihood.Continuation{From: open[q.stem], Tokens: q.tokens, Output: q.output}
		}
		lines, err := likelihood.Score(ctx, h.session, h.info, asked, h.sequences())
		if err != nil {
			return err
		}
		for i, q := range list {
			out[q.stem].raw[q.record] = h.read(lines[i])
		}
		return nil
	})
}

// read is the verdict on a prompt after which an output has these probabilities.
func (h *hearing) read(line likelihood.Scores) int64 {
	var sum float64
	for _, log := range line.LogProbs {
		if h.Utility == Soft {
			sum += log
		} else {
			sum += math.Exp(log)
		}
	}
	if h.Utility == Soft {
		return fixed(math.Exp(sum))
	}
	return fixed(sum / float64(len(line.LogProbs)))
}
