package tokenizer_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sotto-dp/sotto/internal/engine/tokenizer"
	"github.com/sotto-dp/sotto/lm"
)

func Example() {
	end := lm.Token(0)
	tok, err := tokenizer.New(tokenizer.Config{
		Model:  "gpt2",
		Pre:    "smollm",
		Tokens: []string{"<|im_end|>", "a", "b", "Ġ", "ab", "Ġab", "<", "|", ">", "_", "i", "m", "e", "n", "d"},
		Types:  []tokenizer.Type{tokenizer.Control, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
		Merges: []string{"a b", "Ġ ab"},
		EOS:    &end,
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	ids, err := tok.Encode(ctx, "ab ab<|im_end|>")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ids)
	text, err := tok.Decode(ctx, ids)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
	// Output:
	// [4 5 6 7 10 11 9 12 13 14 7 8]
	// ab ab<|im_end|>
}
