// Package release writes the public files of a run: the examples in common formats, a data
// set card, and a report.
//
// The one idea: everything in here is made from values that a mechanism has released
// already, so it is post-processing and costs nothing (Dwork and Roth 2014, proposition
// 2.1). The package imports nothing of the private side, so it can only show what it is
// given.
//
// # Files
//
//	demos.jsonl      an example a line, under the task's own column names
//	messages.jsonl   an example a line, as a conversation of OpenAI's chat API
//	prompt.txt       instruction and examples, ready for a question to follow
//	dspy.json        the state of a dspy.Predict, for its load method
//	langchain.json   a few_shot prompt, for LangChain's load_prompt
//	README.md        a data set card, with front matter as Hugging Face reads it
//	report.html      a page for people who decide: a verdict, guarantee, budget, worth and texts
//
// A line of messages.jsonl is what OpenAI's fine-tuning takes. For few-shot prompting take
// the first line's system message once, and then the user and assistant messages of every
// line.
//
// # What is not private
//
// A [Release] is private if its method is, if its randomness was secret, and if there is a
// guarantee to state. Otherwise every file says NOT PRIVATE: JSON in a member
// "not_private", text in its first lines.
package release
