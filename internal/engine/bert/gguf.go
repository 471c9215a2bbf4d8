package bert

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
)

// blockFile is a GGUF file, whose tensors have names of their own.
type blockFile struct{ *gguf.File }

// ggufNames are the parts of names in GGUF files, by those of transformers.
var ggufNames = strings.NewReplacer(
	"embeddings.word_embeddings.", "token_embd.",
	"embeddings.position_embeddings.", "position_embd.",
	"embeddings.token_type_embeddings.", "token_types.",
	"embeddings.LayerNorm.", "token_embd_norm.",
	"encoder.layer.", "blk.",
	"attention.self.query.", "attn_q.",
	"attention.self.key.", "attn_k.",
	"attention.self.value.", "attn_v.",
	"attention.output.dense.", "attn_output.",
	"attention.output.LayerNorm.", "attn_output_norm.",
	"intermediate.dense.", "ffn_up.",
	"output.dense.", "ffn_down.",
	"output.LayerNorm.", "layer_output_norm.",
)

func (f blockFile) tensor(name string) (tensor, bool, error) {
	t, ok := f.Tensor(ggufNames.Replace(name))
	if !ok {
		return tensor{}, false, nil
	}
	data, err := t.Bytes()
	shape := slices.Clone(t.Dims)
	slices.Reverse(shape)
	return tensor{t.Type, shape, data}, true, err
}

func loadGGUF(path string, o Options) (*sharedModel, error) {
	file, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	c := &config{name: cmp.Or(o.Name, strings.TrimSuffix(filepath.Base(path), ".gguf")), prefix: o.Prefix, short: precise}
	pieces, err := c.readMetadata(file.Metadata())
	if err == nil {
		err = c.check()
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	loaded := false
	l, err := build(path, c, pieces, func() (*sharedModel, error) {
		loaded = true
		return readWeights(path, blockFile{file}, c)
	})
	if err != nil && !loaded {
		file.Close()
	}
	return l, err
}

// readMetadata reads what the file says of its encoder, and returns its vocabulary.
func (c *config) readMetadata(m *gguf.Metadata) ([]string, error) {
	if kind, err := m.String("general.architecture"); err != nil || kind != "bert" {
		return nil, fmt.Errorf("it is a model of architecture %q, and the encoders that run here are of \"bert\", such as bge-small-en-v1.5, e5-small-v2 and gte-small", kind)
	}
	for key, to := range map[string]*int{
		"block_count": &c.layers, "embedding_length": &c.width, "attention.head_count": &c.heads,
		"feed_forward_length": &c.hidden, "context_length": &c.positions,
	} {
		n, err := m.Uint("bert." + key)
		if err != nil {
			return nil, err
		}
		*to = int(min(n, 1<<30))
	}
	eps, err := m.Float("bert.attention.layer_norm_epsilon")
	if err != nil {
		return nil, err
	}
	c.eps, c.limit = float32(eps), c.positions
	if causal, err := m.Bool("bert.attention.causal"); err == nil && causal {
		return nil, errors.New("it is a decoder, in which word pieces do not see those that follow")
	}
	switch way, err := m.Uint("bert.pooling_type"); {
	case err != nil:
		return nil, fmt.Errorf("it does not say how vectors of word pieces become one, so that it is no encoder of sentences, or an old conversion of one: %w", err)
	case way == 1:
		c.pooling = meanPooling
	case way == 2:
		c.pooling = firstPooling
	default:
		return nil, fmt.Errorf("its pooling is of type %d, and should be 1 (mean) or 2 (the first word piece)", way)
	}
	return c.readWordPieces(m)
}

// readWordPieces reads the vocabulary. A conversion writes pieces that begin a word with ▁ in front and those that
// continue one without their "##". It does not say whether letters become lower case: they do
// unless the vocabulary has some in upper case.
func (c *config) readWordPieces(m *gguf.Metadata) ([]string, error) {
	if kind, err := m.String("tokenizer.ggml.model"); err != nil || kind != "bert" {
		return nil, fmt.Errorf("its tokenizer is of type %q, and should be of \"bert\", which has word pieces", kind)
	}
	pieces, err := m.Strings("tokenizer.ggml.tokens")
	if err != nil {
		return nil, err
	}
	c.vocabulary, c.kinds = len(pieces), 2
	if n, err := m.Uint("tokenizer.ggml.token_type_count"); err == nil {
		c.kinds = int(min(n, 1<<30))
	}
	c.lower = true
	for i, piece := range pieces {
		whole, starts := strings.CutPrefix(piece, "▁")
		framed := strings.HasPrefix(whole, "[") && strings.HasSuffix(whole, "]") && len(whole) > 2
		c.lower = c.lower && (framed || strings.IndexFunc(whole, isCapital) < 0)
		switch {
		case starts:
			pieces[i] = whole
		case !framed:
			pieces[i] = "##" + piece
		}
	}
	c.strip = c.lower
	return pieces, nil
}

// isCapital leaves out those such as ℝ, which have no other case.
func isCapital(r rune) bool { return r >= 'A' && r <= 'Z' }
