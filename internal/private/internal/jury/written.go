package jury

import (
	"context"
	"math"
	"strings"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/likelihood"
	"github.com/sotto-dp/sotto/prompt"
)

// output is an answer as it follows a question, cut to the task's limit, and for an
// extracted phrase the end of its line: with it the answer is complete.
func (j *Jury) output(ctx context.Context, answer string) ([]lm.Token, error) {
	answer = strings.TrimSpace(j.layout.Line(answer))
	if answer == "" {
		return nil, nil
	}
	end := ""
	if j.Task.Kind != prompt.Generate && j.Task.OneLine() {
		end = "\n"
	}
	tokens, err := j.Model.Tokenizer().Encode(ctx, " "+answer+end)
	if err != nil {
		return nil, err
	}
	return tokens[:min(len(tokens), j.Task.Limits.AnswerTokens)], nil
}

// written hears records about answers that are not of a list.
func (h *hearing) written(ctx context.Context, stems []stem, open []lm.Sequence, out []heard) error {
	return h.passes(stems, h.sequences(), func(list []question) error {
		asked := make([]likelihood.Continuation, len(list))
		for i, q := range list {
			asked[i] = likelihood.Continuation{From: open[q.stem], Tokens: q.tokens, Output: q.output}
		}
		lines, err := likelihood.Score(ctx, h.session, h.info, asked, h.sequences())
		if err != nil {
			return err
		}
		for i, q := range list {
			out[q.stem].raw[q.record] = h.read(lines[i], q.output)
		}
		return nil
	})
}

// read is the verdict on a prompt after which an output has these probabilities.
func (h *hearing) read(line likelihood.Scores, output []lm.Token) int64 {
	switch h.Utility {
	case Soft:
		var sum float64
		for _, log := range line.LogProbs {
			sum += log
		}
		return fixed(math.Exp(sum))
	case Written:
		var sum float64
		for _, log := range line.LogProbs {
			sum += math.Exp(log)
		}
		return fixed(sum / float64(len(line.LogProbs)))
	}
	for i, best := range line.Best {
		if best != output[i] {
			return 0
		}
	}
	return One
}
