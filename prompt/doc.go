// Package prompt defines tasks: their records, how a text is generated for a condition, and
// how a question is answered with demonstrations.
//
// A task is public. It is written without looking at the data, and defines
// what the rest of the program may treat as known: columns, the label list, the layout of
// prompts, limits. So nothing here costs privacy, and nothing here may ever be filled in
// from private records.
//
// A record has two fields, and a task uses them in two directions:
//
//	             condition           text                answering gives
//	classify     the label           the text            the label for a text
//	extract      the label           the text            the label for a text
//	generate     the input           the output          the output for an input
//
// [Task.GenerationHead] has a text written for a condition, [Task.AnswerItem] a question answered.
//
// # Segments
//
// A prompt is a prefix (the instruction), any number of demonstrations, and a head that
// waits for its text. Demonstrations and heads start with a newline, prefixes and
// demonstrations end with one. With byte-pair tokenisers that do not join newlines (GPT-2's
// and those made after it, such as that of the default model) the tokens of the segments,
// one after the other, are the tokens of the whole, so that segments can be tokenised once
// and shared. Where a tokeniser joins newlines the two differ, and the program always takes
// the segments.
//
// # Files
//
// A task is a TOML file of about ten lines; those of [Builtins] are in the folder tasks and
// serve as examples. The layouts of the built-in tasks are those of Tang et al.,
// "Privacy-preserving in-context learning with differentially private few-shot generation"
// (ICLR 2024), tables 5 to 8, after Zhao et al. 2021, and of figures 5 to 7 of Flemings et
// al., "Differentially private in-context learning via sampling few-shot mixed with
// zero-shot outputs" (2025).
package prompt
