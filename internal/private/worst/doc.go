// Package worst plays the mechanisms that ship on made-up inputs that are the worst for them, so
// that audits can count how often an adversary is right.
//
// A [Game] has two neighbouring inputs, a mechanism with the settings of a real run,
// the event that it declares, and the score of an adversary that knows all except which of the two
// went in. What runs is the shipped code: draws by package draw, choices by the methods' own
// Select, rounds, votes and tables by their own packages. Records are made up, and there is no
// way to play on others.
package worst
