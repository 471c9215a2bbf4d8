// Package demo makes up the private data that the program shows itself on.
//
// The data are messages to a helpline that does not exist: people write about debts,
// quarrels, bosses, illnesses and landlords, and about half of them tell who they are.
// Nothing was copied from anywhere. A grammar (grammar.txt) is expanded with
// pseudo-random numbers that are the same for ever, so that the i-th message is the
// same on every machine, and every planted name, phone number, member number,
// e-mail address and street address is known ([Secrets]). Anything that is
// released can be searched for them ([Find]).
//
// There are three parts of the same distribution: [Tickets], the private data;
// [Development], by which the task and the settings were chosen; and [HeldOut], on which
// results are reported and nothing was chosen. No text is in two of them: which part a
// text may be in is decided by a hash of the text.
//
// # Why this task
//
// The task (task.toml) was chosen on development data so that demonstrations are worth
// having with the default model, the smallest there is: without any it puts most
// messages on one desk, with one message for each desk in the prompt it gets most of them
// right. Many others were tried and given up, because 135 million parameters do not learn
// them from any demonstrations: a telephone company's queues, desks called by names
// that do not say what they do, a town office with the same five kinds of secrets.
package demo
