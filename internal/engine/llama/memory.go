package llama

import (
	"errors"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/kernel"
	"github.com/sotto-dp/sotto/internal/sys/machine"
	"github.com/sotto-dp/sotto/lm"
)

// Predict returns an upper bound of the memory that sequences take.
func (m *Model) Predict(l lm.Load) lm.Memory {
	longest := min(l.Shared+l.Tokens, m.config.context)
	whole := (l.Shared + pageLen - 1) / pageLen
	// A sequence has the unfinished page of the beginning to itself.
	own := (longest+pageLen-1)/pageLen - l.Shared/pageLen
	pages := int64(whole) + int64(l.Sequences)*int64(max(0, own))
	return lm.Memory{
		Weights: m.weights.bytes(),
		Pages:   pages * int64(m.pages.size) * 4,
		Work:    m.config.work(m.pool.workers, longest) + int64(l.Sequences)*m.config.perSequence(),
	}
}

// work bounds the memory of a pass over sequences of a length.
func (c *config) work(workers, longest int) int64 {
	slabs := newPageShape(c).slabs
	// What matrices are multiplied by is there as integers too, of half the size and a little.
	inputs := padded(c.width) + padded(c.heads*c.head) + padded(c.hidden)
	rows := int64(maxRows) * int64(3*padded(c.width)+2*padded(c.heads*c.head)+2*padded(c.kvHeads*c.head)+2*padded(c.hidden)+inputs)
	together := max(c.group(), min(unitRows, unitScores/(longest+pageLen)))
	each := int64(kernel.ScratchFloats) + int64(max(unitRows, c.group()))*int64(c.head+slabs*kernel.Panel) + 2*int64(aloneRows*padded(c.width))
	each += int64(together) * int64(longest+2*pageLen) * 3 / 2
	logits := int64(wholeRows) * int64(padded(c.vocab)+2*padded(c.width))
	// Two rotations, each with its cosines and sines, and once more while they grow.
	angles := int64(2*2*2) * int64(longest+rotationStep) * int64(c.rotated/2)
	return 4 * (rows + int64(workers)*each + logits + angles)
}

// perSequence bounds what a sequence takes besides its pages: its last state, where the head
// reads it and its list of pages.
func (c *config) perSequence() int64 { return 4*2*int64(c.width) + 8*int64(c.context/pageLen+1) }

// fits refuses a model whose weights do not fit the limit, or what the machine has free if
// there is none, before they are packed. It is not known of every machine.
func (c *config) fits(f *gguf.File, workers int, limit int64) error {
	free := limit
	if free == 0 {
		free = machine.Free()
	}
	need := c.work(workers, rotationStep)
	for _, t := range f.Tensors() {
		if t.Name == "token_embd.weight" {
			if _, untied := f.Tensor("output.weight"); untied {
				continue // read from the file, row by row
			}
		}
		n, err := kernel.PackedBytes(t.Type, t.Rows(), t.Cols())
		if err != nil {
			continue // loading names the tensor
		}
		need += n
	}
	if free == 0 || need <= free {
		return nil
	}
	return &lm.MemoryError{
		What: "the model", Need: need, Free: free,
		Advice: "end other programs, or use a smaller model (docs/models.md has a table) or a file of it with fewer bits",
	}
}

// fileProblem wraps an error of loading, unless the machine is the reason.
func fileProblem(err error) error {
	if _, ok := errors.AsType[*lm.MemoryError](err); ok {
		return err
	}
	return lm.FileProblem(err)
}
