// Package demo generates the made-up private data of the demonstration, documents and
// tests.
//
// The data are messages of people who do not exist, of three kinds. [Repairs]: what is broken
// at a company, with the desk that takes care of it and the thing that is broken; "sotto demo"
// is about these. [Office]: the same in short sentences, sorted by desks whose names say
// nothing; attacks on the program use these. [Helpline]: people write about debts, quarrels,
// bosses, illnesses and landlords, sorted by desks that say what they are for; documents and
// tests use these. Many tell who
// they are. Nothing was copied from anywhere. A grammar (repairs.txt, office.txt,
// helpline.txt, names.txt) is expanded with pseudo-random numbers that are the same forever, so that the
// i-th message is the same on every machine, and every planted name, phone number, member
// number, e-mail address and street address is known ([Messages.Secrets]). Anything that is
// released can be searched for them ([Find]).
//
// There are three parts of the same distribution: [Messages.Tickets], the private data;
// [Messages.Development], by which the task and the settings were chosen; and
// [Messages.HeldOut], on which results are reported and nothing was chosen. No text is in
// two of them: which part a text may be in is decided by a hash of the text.
//
// For tables there are [Loans] of a savings bank that does not exist either, and
// [HeldOutLoans] to evaluate with: rows of the same law, each with numbers of its own. The
// law is in the code, and the schema (loans.toml) was written from the bank's form.
//
// # Why these tasks
//
// The demo asks two questions about a message. Which desk takes care of it is one of a list:
// all private messages are added up as evidence for that, and a classifier without a language
// model does as well, which the demo shows beside it. What is broken has to be taken out of the
// message, for which a language model is needed, and examples show it the form of the answer.
//
// The smallest model, the default, writes examples that nobody would show to others. So the
// public ones that messages choose from were written by hand (repairs.jsonl, [Messages.MadeUp]).
//
// The office's desks are called Blue, Red, Green and Orange, and its task (office.toml) does not
// say what they take care of: nothing but the messages tells.
//
// The helpline's labels say what they mean. With the default model most of what examples
// teach is then the form of the answer. Accuracy on the first 60 development messages, by
// sets of one example for each desk, with contextual calibration, as mean ± standard
// deviation over four sets:
//
//	no example                            38 %
//	synthetic, without the data, ε = 0    70 ± 13 %
//	synthetic, clipped, ε = 1             73 ± 4 %
//	the first five private messages       82 %
package demo
