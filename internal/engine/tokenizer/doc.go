// Package tokenizer turns text into a model's tokens and back, by what the model's
// GGUF file says about its vocabulary.
//
// A tokeniser is a rule that cuts text into pieces and a rule that
// merges neighbours within a piece, best pair first, leftmost first among equals.
// Byte-level BPE ("gpt2") begins with single bytes and ranks pairs by its list of
// merges; SentencePiece ("llama") begins with characters and ranks pairs by the
// score of the token that they make. Both share one merging loop (merge.go); the
// cutting rules are scanners written by hand (pieces.go).
//
// # What is guaranteed
//
// [Tokenizer.Encode] gives the ids that llama.cpp gives with parse_special off, for
// every string of bytes. The package's tests hold it to ids that came from
// llama.cpp: every code point that may be assigned, in four surroundings; random and
// broken UTF-8; and the texts of whole data sets. It differs on purpose in two places:
//
//   - Encode never returns a mark (a token that [Tokenizer.Control] reports), even
//     where the pieces of a mark's spelling could be merged into it. So no text can
//     forge a turn by the marks that the vocabulary has.
//   - Bytes that would be a character past U+10FFFF, which end llama.cpp with an
//     exception, are replaced one by one by U+FFFD, as it does with other bytes that
//     are not UTF-8.
//
// [Tokenizer.Decode] is additive: the text of two lists of tokens, one after the
// other, is the text of the first and then of the second. So it can be called for
// any part of a sequence. It returns what was encoded, except for three things: a
// byte-level vocabulary replaces invalid UTF-8 and leaves out bytes that it has no
// token for (SmolLM2 has none for some control characters and for planes 4 to 11);
// a SentencePiece vocabulary may put a space before the text and cannot tell "▁"
// from a space.
//
// # Chat
//
// [Tokenizer.Chat] lays out messages. Chat templates are programs in Jinja; here a
// template is recognised by the expressions that make up a known layout (ChatML,
// Llama 2 and 3, Mistral, Zephyr, Gemma, Phi-3 and Phi-4), and refused with an
// [*lm.UnsupportedError] otherwise. Marks enter by number, all else by Encode. Where
// a layout's marks are words that the vocabulary does not have, as "[INST]" in
// Llama 2, they are text and text can imitate them.
//
// # Memory
//
// A tokeniser remembers the tokens of recent pieces, at most 2^15 of at most 32
// bytes each, in memory only. They are pieces of the texts that it was given.
package tokenizer
