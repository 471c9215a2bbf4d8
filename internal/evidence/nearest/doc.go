// Package nearest picks, of the examples of a prompt, those that are most similar to a question, by a public encoder
// of sentences.
//
// Which examples a question gets follows from the question, the prompt and the encoder, and from
// nothing else. So what a record judges is what the same question is answered with: the records that choose and
// measure prompts (internal/private/internal/grader), answers (internal/icl) and the gateway all pick here. The
// examples are public, and picking among them is post-processing; the question of a record is not, and only a
// trusted encoder may see it, which the caller makes sure of.
//
// A prompt names its encoder ([prompt.Nearest]), and another one is refused: it would pick other examples than
// those that were judged.
package nearest
