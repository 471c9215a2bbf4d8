package grader

import (
	"context"
	"math"

	"github.com/sotto-dp/sotto/internal/likelihood"
	"github.com/sotto-dp/sotto/lm"
)

// written asks records about the probability of answers that are not of a list.
func (h *batch) written(ctx context.Context, stems []stem, open []lm.Sequence, out []gradesOf) error {
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
			out[q.stem][reading{}][q.record] = h.read(lines[i])
		}
		return nil
	})
}

// read is the grade on a prompt after which an output has these probabilities.
func (h *batch) read(line likelihood.Scores) int64 {
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
