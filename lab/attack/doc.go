// Package attack is an adversary who sees what was released and asks whose records were used.
//
// An attack counts for something only if it succeeds where it should. So each is
// played twice by the same code: on demonstrations that are records as they are, which it has to find,
// and on private ones, where it must find no more than ε allows ([MaxArea], [audit.MaxFound]).
//
// # Members
//
// Each record of a small data set is in it or not, by a coin of its own; so members and others have the
// same distribution, and data sets with a record and without it differ in that record alone, which is
// what add-remove adjacency is about. [Game.Play] makes a release of each data set, and scores records:
//
//   - [Answers]: how likely the model finds the record's own label with the released demonstration in
//     the prompt. That is the attack of Duan et al. 2023, which Tang et al. 2024 (appendix F) and
//     Flemings et al. 2025 (appendix D.1) have measured with.
//   - [Writes]: how much likelier the released text is after the record than without any. A method that
//     writes from records does the same computation, so this is close to the best there is.
//   - [Choice]: how much better the chosen demonstrations answer the record than those that were not
//     chosen.
//
// Each of them is also fitted to a canary, a record unlike all others, that is in or out by a coin of its
// own: how its score is distributed if it is in and if it is not is learnt on half of the releases, and
// the others are judged by the ratio (Carlini et al. 2022, "Membership inference attacks from first
// principles"), and the other way round. Learning on all releases except one would be biased: a score that
// is left out moves the average of its own side away from itself.
//
// # Secrets
//
// [Hunt.Play] plants made-up codes in records, some of them many times, and asks the model which code it
// would say next, with the released demonstrations in its prompt. The place of the true code among all
// gives its exposure ([Exposure]). A code that nothing is known about has each place with the same
// probability: on average 1/ln 2 = 1.44 bits.
//
// Attacks are lower bounds. That these fail does not show that others do.
package attack
