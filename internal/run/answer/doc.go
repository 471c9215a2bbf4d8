// Package answer answers questions from private records, each of them charged to the
// data's budget before a record is drawn for it.
//
// Reserve, then draw, question by question. A question is public, so
// everything about it is checked first; then the ledger reserves the worst case of one
// answer; only then is somebody drawn, with randomness that the operating system gave for
// this and that is forgotten afterwards. What was released is committed.
//
//	checked    the question fits the task and the model (nothing is charged)
//	reserved   the ledger holds the worst case (or refuses, and nothing is drawn)
//	written    token by token (internal/private/decode) or as a whole (internal/private/ensemble)
//	committed  the ledger knows; with a privacy filter, only what came to pass is charged
//
// # What is guaranteed
//
//   - No record is drawn or scored for a question before its reservation is durable. A
//     question that the budget does not allow is a [*ledger.RefusedError].
//   - An answer, and every part of it that was streamed, depends on the records through
//     the reserved event alone (internal/private/decode and internal/private/ensemble have the proofs). It
//     is handed out only if it was written by that event, in no more steps.
//   - Whatever happens after the reservation, it stays charged: a failure is a
//     [*ChargedError] that names the charge, a crash leaves it reserved. The question,
//     asked again, is a new one, unless it is one of a list that continues ([Session.ResumeFrom]):
//     then charge and randomness are those of the first time, and so is the answer.
//   - All answers together cost what the ledger says they do (package ledger), however
//     many sessions in however many processes there are.
//
// # Questions that follow from answers
//
// People read an answer and ask the next question. Which question it is does not matter:
// composition is over mechanisms that may depend on what was released before. How many are
// asked may depend on it too, as long as all charges to a planned budget are equal: asking
// fewer is a part of asking as many as the budget allows, and the budget is for those. Who
// decides from answers to ask in another way, at another price, needs an adaptive budget
// (sotto ledger init --composition adaptive). That also takes back the tokens that an
// answer did not need, if each token has a draw of its own.
//
// # What it does not protect from
//
// How long an answer takes, and what it makes the model do ([Session.Usage]), depends on
// the records that were drawn: it is for who runs the program, not for who asks.
package answer
