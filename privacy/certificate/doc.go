// Package certificate signs the privacy claims of a release, and checks them.
//
// A certificate states events, and ε follows from them. Nobody types an ε in:
// [NewStatement] computes it with an [Evaluator], and [Verify] computes it again. A
// certificate is an in-toto Statement v1 in a DSSE envelope signed with Ed25519. Its
// subjects are the released files by SHA-256; its predicate (type [PredicateType]) is a
// [Predicate]. It lies beside the files as [FileName]. Checking it takes the files and a
// public key, nothing else.
//
// # What a valid certificate proves
//
//   - A holder of a trusted key signed exactly these bytes for exactly these
//     files. Ed25519 and SHA-256 are assumed to be unbroken.
//   - The claimed ε is at least what the stated events cost at the stated δ and
//     adjacency, by the verifier's own accountant.
//   - The claim is complete: adjacency, unit, samplers, assumptions and the
//     rest are present, known, and agree with each other.
//
// # What it does not prove
//
//   - That the mechanism which ran is the one the events describe. That is the
//     signer's word; the assumptions in the certificate say so.
//   - That other releases from the same records stay within a budget. The ledger
//     does that; a certificate covers its own events alone.
//   - When it was signed. The day is the signer's own, so a stolen key can
//     backdate. It is no more than a day: times of a run tell how long it took, which
//     depends on the records that were drawn. Replace keys that are merely old, revoke keys that may be stolen.
//
// Releases from seeded randomness, non-private baselines and rules without a proof never
// get a certificate: [NewStatement] returns a [RefusedError].
//
// # How ε is compared
//
// The verifier's interval [lower, upper] encloses the exact ε of the events. A claim below
// lower is refuted. A claim between lower and upper is not confirmed: a tighter accountant
// may have made it, but a bound that cannot be reproduced is not a checked bound, and an
// accountant whose upper end grew may have grown because the old one was wrong. Both fail,
// with different messages. A claim may exceed upper, because (ε, δ)-privacy implies it at
// every larger ε. The claimed lower end must not exceed upper, because then one of the two
// accountants is wrong. Ends compare up to [Tolerance], which covers floating-point
// differences between machines.
//
// # Every byte matters
//
// Envelope and statement have one encoding each: they are decoded, encoded again and
// compared. So duplicate or unknown fields, other cases of a field name, trailing data,
// loose base64 and white space are all rejected, and certificates that differ in any byte
// state different things. An envelope has one signature.
//
// # Keys
//
// A signer has a folder with one private key in PEM, which its first use makes, and a trust
// file ([TrustFile]): public keys, each with the last day for which it is trusted, and with
// its revocation. What a key signed until its last day stays valid; a revoked key verifies
// nothing. [NewKey] replaces the key that signs, [Revoke] erases it. A verifier needs the
// public key, and the trust file for what ended since. Private bytes are never printed.
package certificate
