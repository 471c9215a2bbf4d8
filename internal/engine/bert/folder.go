package bert

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// Files of a folder as sentence-transformers writes it.
const (
	weightsFile   = "model.safetensors"
	configFile    = "config.json"
	vocabFile     = "vocab.txt"
	tokenizerFile = "tokenizer.json"
	spellingFile  = "tokenizer_config.json"
	modulesFile   = "modules.json"
	poolingFile   = "1_Pooling/config.json"
	lengthFile    = "sentence_bert_config.json"
	promptsFile   = "config_sentence_transformers.json"
)

// folder is what a folder says of its encoder.
type folder struct {
	config
	dir     string
	weights string
	pieces  []string
	files   []string // that were read
}

func readFolder(dir string, o Options) (*folder, error) {
	f := &folder{dir: dir, weights: filepath.Join(dir, weightsFile)}
	if _, err := os.Stat(f.weights); err != nil {
		return nil, fmt.Errorf("a sentence encoder needs %s: %w", weightsFile, err)
	}
	f.files = append(f.files, f.weights)
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	f.name, f.prefix = cmp.Or(o.Name, filepath.Base(absolute)), o.Prefix
	for _, read := range []func() error{f.readShape, f.readPooling, f.readTokenizer, f.readLength, f.readPrompts} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	f.short = precise
	return f, f.check()
}

// read decodes a file of JSON, if it is there.
func (f *folder) read(name string, into any) (there bool, err error) {
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	data, err := bounded.ReadFile(path, 64*bounded.Small)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f.files = append(f.files, path)
	if err := bounded.UnmarshalJSON(data, 64*bounded.Small, into); err != nil {
		return false, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	return true, nil
}

// readShape reads what transformers calls the configuration.
func (f *folder) readShape() error {
	var c struct {
		Type       string   `json:"model_type"`
		Layers     int      `json:"num_hidden_layers"`
		Width      int      `json:"hidden_size"`
		Heads      int      `json:"num_attention_heads"`
		Hidden     int      `json:"intermediate_size"`
		Positions  int      `json:"max_position_embeddings"`
		Vocabulary int      `json:"vocab_size"`
		Kinds      *int     `json:"type_vocab_size"`
		Epsilon    *float64 `json:"layer_norm_eps"`
		Activation string   `json:"hidden_act"`
		Place      string   `json:"position_embedding_type"`
		Decoder    bool     `json:"is_decoder"`
	}
	there, err := f.read(configFile, &c)
	switch {
	case err != nil:
		return err
	case !there:
		return fmt.Errorf("a sentence encoder needs %s, which says how many heads it has", configFile)
	case c.Type != "bert":
		return fmt.Errorf("it is a model of type %q, and the encoders that run here are of type \"bert\", such as bge-small-en-v1.5, e5-small-v2 and gte-small", c.Type)
	case c.Decoder:
		return errors.New("it is a decoder, in which word pieces do not see those that follow")
	case c.Activation != "" && c.Activation != "gelu":
		return fmt.Errorf("its activation is %q, and should be \"gelu\"", c.Activation)
	case c.Place != "" && c.Place != "absolute":
		return fmt.Errorf("its positions are of type %q, and should be \"absolute\"", c.Place)
	}
	f.layers, f.width, f.heads, f.hidden = c.Layers, c.Width, c.Heads, c.Hidden
	f.positions, f.vocabulary, f.kinds, f.eps = c.Positions, c.Vocabulary, 2, 1e-12
	if c.Kinds != nil {
		f.kinds = *c.Kinds
	}
	if c.Epsilon != nil {
		f.eps = float32(*c.Epsilon)
	}
	return nil
}

// readPooling reads what follows the layers. Vectors have length one whether or not a module says so.
func (f *folder) readPooling() error {
	var modules []struct{ Path, Type string }
	if _, err := f.read(modulesFile, &modules); err != nil {
		return err
	}
	file := poolingFile
	for _, m := range modules {
		switch kind := m.Type[strings.LastIndex(m.Type, ".")+1:]; kind {
		case "Transformer", "Normalize":
		case "Pooling":
			if !fs.ValidPath(m.Path) {
				return fmt.Errorf("%s names a folder outside of this one", modulesFile)
			}
			file = m.Path + "/config.json"
		default:
			return fmt.Errorf("after its layers it has a module %q, and the encoders that run here have pooling and normalising alone", kind)
		}
	}
	var p map[string]any
	there, err := f.read(file, &p)
	switch {
	case err != nil:
		return err
	case !there:
		return fmt.Errorf("there is no %s, which says how vectors of word pieces become one: it is no encoder of sentences, or not all of its folder", file)
	}
	var on []string
	for key, v := range p {
		if way, ok := strings.CutPrefix(key, "pooling_mode_"); ok && v == true {
			on = append(on, way)
		}
	}
	if len(on) == 1 && on[0] == "mean_tokens" {
		f.pooling = meanPooling
	} else if len(on) == 1 && on[0] == "cls_token" {
		f.pooling = firstPooling
	} else {
		return fmt.Errorf("its pooling has %d modes switched on, and should have one: mean_tokens or cls_token", len(on))
	}
	if v, ok := p["include_prompt"]; ok && v == false && f.prefix != "" {
		return fmt.Errorf("%s leaves prefixes out of the mean, which is not done here: open it without one", file)
	}
	return nil
}

// readTokenizer reads the vocabulary and how text is spelled by it.
func (f *folder) readTokenizer() error {
	var t struct {
		Normalizer struct {
			Type      string `json:"type"`
			Lowercase *bool  `json:"lowercase"`
			Strip     *bool  `json:"strip_accents"`
		} `json:"normalizer"`
		Model struct {
			Type  string           `json:"type"`
			Vocab map[string]int32 `json:"vocab"`
		} `json:"model"`
	}
	path := filepath.Join(f.dir, vocabFile)
	_, err := os.Stat(path)
	listed := err == nil
	there := false
	if !listed {
		if there, err = f.read(tokenizerFile, &t); err != nil {
			return fmt.Errorf("there is no %s, and the tokenizer in %s is none of word pieces, which are the ones that run here", vocabFile, tokenizerFile)
		}
	}
	switch {
	case listed:
		f.files = append(f.files, path)
		f.pieces, err = readPieces(path)
	case !there:
		err = fmt.Errorf("a sentence encoder needs %s or %s", vocabFile, tokenizerFile)
	case t.Model.Type != "WordPiece":
		err = fmt.Errorf("its tokenizer is of type %q, and should be \"WordPiece\"", t.Model.Type)
	default:
		f.pieces, err = inOrder(t.Model.Vocab)
	}
	if err != nil {
		return err
	}
	return f.readSpelling(t.Normalizer.Lowercase, t.Normalizer.Strip)
}

// inOrder lists pieces by their ids.
func inOrder(ids map[string]int32) ([]string, error) {
	pieces := make([]string, len(ids))
	for piece, id := range ids {
		if id < 0 || int(id) >= len(pieces) || pieces[id] != "" {
			return nil, errors.New("the ids of its vocabulary have gaps or duplicates")
		}
		pieces[id] = piece
	}
	return pieces, nil
}

// readSpelling reads what becomes of letters; lower and strip are what the tokenizer's own file says.
func (f *folder) readSpelling(lower, strip *bool) error {
	var s struct {
		Lower *bool    `json:"do_lower_case"`
		Strip *bool    `json:"strip_accents"`
		Apart *bool    `json:"tokenize_chinese_chars"`
		Limit *float64 `json:"model_max_length"`
		Class string   `json:"tokenizer_class"`
	}
	if _, err := f.read(spellingFile, &s); err != nil {
		return err
	}
	switch s.Class {
	case "", "BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "DistilBertTokenizerFast":
	default:
		return fmt.Errorf("its tokenizer is a %q, and should be a \"BertTokenizer\"", s.Class)
	}
	if s.Apart != nil && !*s.Apart {
		return fmt.Errorf("%s keeps ideographs together, which is not done here", spellingFile)
	}
	f.lower = *cmp.Or(s.Lower, lower, new(true))
	f.strip = *cmp.Or(s.Strip, strip, &f.lower)
	f.limit = f.positions
	if s.Limit != nil && *s.Limit < float64(f.positions) { // it may be absurdly large
		f.limit = int(*s.Limit)
	}
	return nil
}

// readLength reads the maximal length of a text.
func (f *folder) readLength() error {
	var l struct {
		Length *int  `json:"max_seq_length"`
		Lower  *bool `json:"do_lower_case"`
	}
	if _, err := f.read(lengthFile, &l); err != nil {
		return err
	}
	if l.Length != nil {
		f.limit = min(f.positions, *l.Length)
	}
	f.lower = f.lower || l.Lower != nil && *l.Lower
	return nil
}

// readPrompts reads the prefix that is used where nothing else is said.
func (f *folder) readPrompts() error {
	var p struct {
		Prompts map[string]string `json:"prompts"`
		Default *string           `json:"default_prompt_name"`
	}
	if _, err := f.read(promptsFile, &p); err != nil {
		return err
	}
	if f.prefix == "" && p.Default != nil {
		f.prefix = p.Prompts[*p.Default]
	}
	return nil
}
