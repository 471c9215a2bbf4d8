// Package demo generates the made-up private data of the demonstration, documents and
// tests.
//
// The data are messages of people who do not exist, of two kinds. [Office]: what is broken
// in an office building, sorted by desks whose names say nothing; "sotto demo" is about
// these. [Helpline]: people write about debts, quarrels, bosses, illnesses and landlords,
// sorted by desks that say what they are for; documents and tests use these. Many tell who
// they are. Nothing was copied from anywhere. A grammar (office.txt, helpline.txt,
// names.txt) is expanded with pseudo-random numbers that are the same forever, so that the
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
// Examples are worth most where nothing but the records tells what labels mean. So the
// demo's desks are called Blue, Red, Green and Orange, and its task (office.toml) does not
// say what they take care of. The model's own examples can then only mislead.
//
// The default model, the smallest there is, hardly learns such labels. From twelve real
// messages to the helpline, with such labels, it learns next to nothing: with names of
// colours, of letters and of winds it sorted 35, 28 and 32 % of 40 messages, where chance
// is 25 %. From sixteen short ones that begin with what they are about it learns more,
// about 45 %. So the messages are short.
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
