// Package sotto is the front door of the library: private records go in, examples with a
// differential-privacy guarantee that anyone can check come out.
//
// A [Client], from [Open], has its state in one directory: the ledger with the budgets of
// data sets, the keys that sign, and a private folder.
//
//   - [Client.Synthesize] writes a few synthetic examples from private labelled texts, into
//     a folder with a certificate, and [Client.Choose] has the records choose a prompt. The
//     budget of the data set is charged before anything is drawn, and a run that was
//     interrupted goes on where it stopped.
//   - [Client.Answers] answers questions from private records, each answer charged to that
//     budget before anybody is drawn for it; [Client.Answer] answers one.
//   - [Client.Measure] reports how well prompts do on private records.
//   - [Client.Profile] describes a private table by typical rows of groups, with noise, as
//     examples with a certificate; [Client.Perturb] exchanges every row for one that may be
//     seen, and [PerturbRows] does so for rows of whoever calls it.
//   - [Client.Plan], [Client.PlanAnswers] and [PlanTable] report what each method would do
//     and cost at an ε. They read no private data.
//   - [Client.Rehearse] carries out a whole run on public records, or on some that the model
//     invents, and measures what comes out. It charges nothing and signs nothing.
//   - [Verify] checks the certificate of a folder against its files and computes ε again.
//
// The one idea is that these functions only join what other packages prove: package
// internal/plan turns an ε into settings and an event, packages internal/run and
// internal/answer carry plans out against package privacy/ledger, and package
// privacy/certificate states what was done. Nothing in here looks into a record, and no ε is
// typed in here.
//
// What [Client.Synthesize] writes has the guarantee of the plan's event (package
// internal/private/decode has the proofs, a method each), on what docs/limitations.md lists.
// For tables the proofs are in packages internal/private/table/global and
// internal/private/table/local.
package sotto
