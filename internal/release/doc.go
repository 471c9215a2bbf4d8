// Package release writes the public files of a run: the examples in common formats, a data
// set card, and a report.
//
// Everything in here is made from values that a mechanism has released
// already, so it is post-processing and costs nothing (Dwork and Roth 2014, proposition
// 2.1). The package imports nothing of the private side, so it can only show what it is
// given.
//
// # Files
//
//	demos.jsonl      an example a line, under the task's own column names
//	chat.json        instruction and examples as the first turns of a chat, and the layout
//	                 of the question that goes after them
//	prompt.txt       the same as one text, ready for a question to follow
//	dspy.json        the state of a dspy.Predict, for its load method
//	finetune.jsonl   a conversation a line, as OpenAI's fine-tuning takes them
//	use.md           code to paste for openai, LangChain, LlamaIndex, DSPy and others
//	croissant.json   what demos.jsonl has, as MLCommons' Croissant describes data sets
//	README.md        a data set card, with front matter as Hugging Face reads it
//	report.html      a page for people who decide: a conclusion, guarantee, budget, worth and texts
//
// Turns are laid out by [prompt.Prompt.Turns], here as everywhere: what a release ships is
// what the gateway sends and what evaluations measure. (Releases of older versions have
// messages.jsonl in place of finetune.jsonl, and langchain.json.)
//
// # What is not private
//
// A [Release] is private if its method is, if its randomness was secret, and if there is a
// guarantee to state. Otherwise every file says NOT PRIVATE: JSON in a member
// "not_private", text in its first lines.
package release
