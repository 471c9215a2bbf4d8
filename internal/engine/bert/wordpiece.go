package bert

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// maxWordRunes is the maximal number of characters of a word; longer ones are unknown.
	maxWordRunes = 100
	// maxPieces is the maximal number of word pieces of a text of all-MiniLM-L6-v2, including
	// the two that frame it.
	maxPieces = 256
	// The longest line of a vocabulary that makes sense.
	maxLine = 1 << 12
)

// tokenizer cuts text into word pieces.
type tokenizer struct {
	// starts are pieces that begin a word, continuations those that continue, without
	// their "##".
	starts, continuations map[string]int32
	// pieces by id, as the file has them.
	pieces       []string
	longestPiece int // in bytes
	size         int
	// lower and strip: letters become lower case, and lose accents.
	lower, strip bool
	// limit is the maximal number of pieces of a text, prefix what every text begins with.
	limit  int
	prefix string

	special                [len(specials)]int32
	unknown, begin, finish int32
}

var specials = [...]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}

// readVocabulary reads one word piece a line; the number of the line is its id.
func readVocabulary(r io.Reader) ([]string, error) {
	var pieces []string
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, maxLine), maxLine)
	for lines.Scan() {
		pieces = append(pieces, lines.Text())
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", len(pieces)+1, err)
	}
	return pieces, nil
}

// newTokenizer returns the tokenizer of a vocabulary, whose pieces are in the order of their ids.
func newTokenizer(list []string) (*tokenizer, error) {
	t := &tokenizer{
		starts: map[string]int32{}, continuations: map[string]int32{},
		pieces: list, size: len(list), lower: true, strip: true, limit: maxPieces,
	}
	for i, piece := range list {
		pieces := t.starts
		if rest, ok := strings.CutPrefix(piece, "##"); ok && rest != "" {
			piece, pieces = rest, t.continuations
		}
		if _, ok := pieces[piece]; ok || piece == "" {
			return nil, fmt.Errorf("line %d is empty or a duplicate: "+
				"give the vocabulary of the model, one word piece a line", i+1)
		}
		pieces[piece] = int32(i)
		t.longestPiece = max(t.longestPiece, len(piece))
	}
	for i, name := range specials {
		id, ok := t.starts[name]
		if !ok {
			return nil, fmt.Errorf("%s is missing: give the vocabulary of the model, one word piece a line", name)
		}
		t.special[i] = id
	}
	t.unknown, t.begin, t.finish = t.special[1], t.special[2], t.special[3]
	return t, nil
}

// encode returns the ids of a text, framed, at most as many as the limit. It stops reading when it
// has them. Bytes that are not UTF-8 are ignored.
func (t *tokenizer) encode(text string) []int32 {
	if t.prefix != "" {
		text = t.prefix + text
	}
	ids := append(make([]int32, 0, 64), t.begin)
	word := func(w string) bool {
		ids = t.appendPieces(ids, w)
		return len(ids) < t.limit-1
	}
	for more := true; more; {
		var piece string
		piece, text, more = cutGap(text)
		if !t.eachPart(piece, word, func(special int32) bool {
			ids = append(ids, special)
			return len(ids) < t.limit-1
		}) {
			break
		}
	}
	return append(ids[:min(len(ids), t.limit-1)], t.finish)
}

// cutGap splits a text at its first gap.
func cutGap(text string) (before, after string, more bool) {
	i := strings.IndexFunc(text, isGap)
	if i < 0 {
		return text, "", false
	}
	_, n := utf8.DecodeRuneInString(text[i:])
	return text[:i], text[i+n:], true
}

// eachPart goes through the special tokens of a piece of text and the words
// between, until one of the functions returns false.
func (t *tokenizer) eachPart(piece string, word func(string) bool, special func(int32) bool) bool {
	from := 0
	for i := 0; i < len(piece); {
		id, n := t.specialAt(piece[i:])
		if n == 0 {
			i++
			continue
		}
		if !eachWord(t.clean(piece[from:i]), word) || !special(id) {
			return false
		}
		i += n
		from = i
	}
	return eachWord(t.clean(piece[from:]), word)
}

// specialAt returns the special token that text begins with and its length.
func (t *tokenizer) specialAt(text string) (id int32, length int) {
	if text[0] != '[' {
		return 0, 0
	}
	for i, name := range specials {
		if strings.HasPrefix(text, name) {
			return t.special[i], len(name)
		}
	}
	return 0, 0
}

// appendPieces appends the longest pieces that make up a word from left to
// right, or the unknown token where they do not exist.
func (t *tokenizer) appendPieces(ids []int32, word string) []int32 {
	if len(word) > maxWordRunes && utf8.RuneCountInString(word) > maxWordRunes {
		return append(ids, t.unknown)
	}
	before := len(ids)
	pieces := t.starts
	for word != "" {
		end := min(len(word), t.longestPiece)
		id, ok := pieces[word[:end]]
		for !ok && end > 0 {
			end--
			id, ok = pieces[word[:end]]
		}
		if !ok {
			return append(ids[:before], t.unknown)
		}
		ids = append(ids, id)
		word, pieces = word[end:], t.continuations
	}
	return ids
}
