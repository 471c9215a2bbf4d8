// Package remote runs models on servers that people already operate: vLLM, SGLang,
// llama.cpp's server, Ollama, OpenAI, Azure and anything that speaks OpenAI's interface.
//
// A server is asked only for what it can answer exactly. [Dial] detects its
// capabilities once; [Probe] prints them. Every server generates text. Texts
// and answers from records need the scores of chosen tokens: [Client.Scorer] returns either a
// scorer or an [lm.UnsupportedError] that names what is missing:
//
//   - vLLM scores chosen tokens (logprob_token_ids), 128 in a request.
//   - SGLang does too (token_ids_logprob).
//   - llama.cpp returns its best N tokens with log-probabilities over the whole
//     vocabulary, before any sampling rule, for any N. So N is raised until all
//     candidates are among them: exact, at the price of long answers (about 95
//     bytes a token; 5 MB for a vocabulary of 49152).
//   - The others return at most 20 tokens of their own choice. That is not enough,
//     and biasing tokens into sight would not give scores of the same model.
//
// # Guarantees
//
// A score that a server left out is an [lm.MissingScoreError], never a guess. A step is all
// or nothing. No error holds text or tokens, or anything a server answered to a prompt
// except a status and a few words from a fixed list, because servers repeat prompts in
// their messages. Keys and prompts go only to the host that was named: redirects elsewhere
// are refused.
//
// No server promises that a sequence's scores depend on its tokens alone, so [lm.Info] sets
// neither Deterministic nor BatchInvariant, and states a tolerance (see [Options]). Where
// records are scored and a guarantee is to be proven, each prompt is therefore sent alone
// ([lm.SoloScorer], [lm.Isolate]).
//
// Everything a server returns is bounded before it is used, probabilities that sum to more
// than one are an error, and every request has a deadline for all of its attempts. Servers
// that see private records are reached without the environment's proxies, and unencrypted
// only where that is allowed.
//
// Control tokens cannot be forged: text goes to a tokeniser as text, and where a server's
// own tokeniser would read control tokens in it, their spellings are split first.
package remote
