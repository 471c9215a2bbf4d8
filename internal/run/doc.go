// Package run carries out a plan in a folder, so that whatever happens on the way the
// data is charged once and nothing leaves that was not paid for.
//
// Replay is exact. A run draws one key from the operating system, and all
// its randomness follows from that. The key is on disk before the ledger is asked, the
// ledger has reserved the worst case before a record is drawn, and a text is on disk as
// soon as it is complete. After a crash the same folder continues: finished texts stand,
// the others are written again from the same key and come out the same, bit for bit. So
// the second attempt shows nobody anything new, and is not charged.
//
//	DIR/plan.json         the plan: public
//	DIR/journal.jsonl     what was done, line by line: public
//	DIR/demos.jsonl, …    the release; of perturbed tables rows.csv
//	DIR/certificate.json  the signed claim, over all of the above
//	DIR/private/          key and lock, until the run is complete
//
// The journal goes through these states, each durable before the next begins:
//
//	planned   the run has a name; plan, data and model are fixed
//	keyed     the key is in private/key, mode 0600
//	reserved  the ledger holds the charge
//	counted   noisy sizes, if the plan asks for them
//	labels    discovered labels, if the plan asks for them
//	ending    the last words that most records share, if the plan asks for them
//	chosen    what each text is for
//	begun     (models that do not replay exactly) a text is being written
//	recharged (the same) a text that was begun and lost is paid for again
//	released  a text
//	winner    what the records chose in a round
//	measuring (models that do not replay exactly) records are asked about prompts
//	measured  how many records prompts are right for, with noise
//	profiled  (tables) the profile, with its noise
//	perturbed (tables) the rows are, in private/; here is their hash
//	written   the files, by hash
//	committed the ledger knows; the journal is closed
//
// After the last line the certificate is signed, the key is overwritten and removed, and
// private/ with it. A run is complete when its journal is closed and private/ is gone.
//
// # What is guaranteed
//
//   - No record is drawn before the reservation: Do calls the ledger, durably, between
//     the states keyed and reserved, and every resumed run asks the ledger again under
//     the key of the first request, which finds the charge and makes none.
//   - All that a folder shows depends on the records through the reserved events alone.
//     Sizes that were counted, labels, texts and their lengths are outcomes of those.
//     Times and amounts of model work are not in any file: they show how many records
//     were drawn and how long these are. Only the caller gets them. Journal, certificate
//     and the times of files tell the day of the call, and no more.
//   - Of a table nothing is outside of memory and private/ before the journal has the
//     outcome. A table in a database may change before a run continues: then the second
//     attempt is the only one that anybody sees.
//   - Unfinished texts of a model that is not exactly repeatable are another matter: the
//     second attempt is new, has fresh randomness, is charged before it begins and is in
//     the certificate.
//   - Under an adaptive budget the ledger takes back the steps of texts that ended
//     early, if each step is an event of its own and all texts come from one part. The
//     number of steps is then chosen by releases, which is what a privacy filter is for
//     (package ledger). The certificate keeps to the worst case, which needs no filter.
//
// # What it does not protect from
//
// Anyone who reads private/key before the run ends can undo its noise, and anyone who can time
// the run, or watches its folder, learns something about the records that were drawn: files
// are dated alike when it is complete, and when the file system last changed them is known
// to the machine alone. Who copies an unfinished folder and lets both continue gets the same texts twice,
// but with a model that is not exactly repeatable two different ones for one charge;
// the second to end is refused only if the first has committed.
//
// Tests kill the process before and after every operation on the folder, make each of
// them fail, tear writes, and let model and ledger fail at every call.
package run
