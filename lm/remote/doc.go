// Package remote runs models on servers that people already operate: vLLM,
// SGLang, llama.cpp's server, Ollama, OpenAI, Azure and whatever speaks OpenAI's
// interface.
//
// The one idea: a server is asked only for what it can answer exactly, and what it
// can is found out by asking, once, in [Dial]. [Probe] prints it. Every server
// writes text (stage two). Stage one needs the scores of chosen tokens, and there
// [Client.Scorer] either gives a scorer or an [lm.UnsupportedError] that names what
// is missing:
//
//   - vLLM answers for chosen tokens (logprob_token_ids), 128 in a request.
//   - SGLang does too (token_ids_logprob).
//   - llama.cpp gives its best N tokens with log-probabilities over the whole
//     vocabulary, before any sampling rule, for any N. So N is raised until all
//     candidates are among them: exact, at the price of long answers (about 95
//     bytes a token; 5 MB for a vocabulary of 49152).
//   - The others give at most 20 tokens of their own choice. That is not enough,
//     and biasing tokens into sight would not give scores of the same model.
//
// # Guarantees
//
// A score that a server left out is an [lm.MissingScoreError], never a guess. A
// step is all or nothing. No error holds text or tokens, or any part of what a
// server said to a prompt but for a status and a few words from a fixed list, because
// servers repeat prompts in their messages. Keys and prompts go to the host that was
// named, and to no other: redirects elsewhere are refused.
//
// No server promises that a sequence's scores depend on its tokens alone, so
// [lm.Info] says neither Deterministic nor BatchInvariant, and states a tolerance
// (see [Options]). Where records are scored and something is to be proven, each prompt is
// therefore sent alone ([lm.SoloScorer], [lm.Isolate]).
//
// What a server says is bounded before it is used, probabilities that add up to more than
// one are an error, and every request has a deadline for all of its attempts. Servers that
// see private records are reached without the environment's proxies, and unencrypted only
// where that is allowed.
//
// Marks of turns cannot be forged: text goes to a tokeniser as text, and where a
// server's own tokeniser would read marks in it, they are taken apart first.
package remote
